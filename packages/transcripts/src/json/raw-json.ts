/** JSON text that is written out as it stands: the digits and the key order of a model's own arguments. */
export class RawJson {
  constructor(readonly text: string) {}
}

/** As `JSON.stringify(value, null, indent)`, with each `RawJson` as its text. */
export function stringifyRaw(value: unknown, indent = 0): string {
  const texts: string[] = []
  // A string that no value can hold by chance: a placeholder is looked for only where one was put.
  const mark = `\u0000raw-${Math.abs(hash(JSON.stringify(value) ?? ''))}-`
  const json = JSON.stringify(
    value,
    (_, each) => {
      if (!(each instanceof RawJson)) return each
      texts.push(each.text)
      return `${mark}${texts.length - 1}`
    },
    indent,
  )
  if (texts.length === 0) return json
  const quoted = JSON.stringify(mark).slice(0, -1)
  return json.replace(new RegExp(`${quoted.replace(/[\\]/g, '\\\\')}(\\d+)"`, 'g'), (_, i) => texts[Number(i)]!)
}

// --- internal ---

function hash(text: string): number {
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  return hash
}
