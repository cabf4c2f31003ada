/** Where a record stands in its file, and when it was written. */
export interface Place {
  /** As `Finding.where`. */
  readonly where: string
  /** The same for each part of the message, where parts stand in places of their own. */
  readonly parts?: readonly string[]
  /** Epoch ms. Left out: when the record before it was written. */
  readonly time?: number | undefined
}
