import { extname } from 'node:path'

/** The name of a copy beside a file: `a/b.jsonl` is `a/b.mended.jsonl`. */
export function besidePath(path: string, how: string): string {
  const extension = extname(path)
  return `${path.slice(0, path.length - extension.length)}.${how}${extension}`
}
