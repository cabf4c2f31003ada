/** Bytes that can be read piece by piece, so that a file of any size needs little memory. */
export interface Source {
  /** In bytes. */
  readonly size: number
  /** Exactly the bytes of the half-open range; the range lies inside. */
  read(from: number, to: number): Uint8Array
}

export function bytesSource(bytes: Uint8Array): Source {
  return { size: bytes.length, read: (from, to) => bytes.subarray(from, to) }
}

/** The whole of it as text; bytes that are no UTF-8 become U+FFFD. A byte order mark is no text. */
export function readText(source: Source): string {
  return new TextDecoder().decode(source.read(0, source.size))
}
