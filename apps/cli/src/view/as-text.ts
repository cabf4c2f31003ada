/** Text as it is, anything else as JSON: what a log holds may be of any shape, whatever the types say. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
