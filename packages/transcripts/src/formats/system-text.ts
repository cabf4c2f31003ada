/** The system texts of a conversation as the one that a log keeps. Nothing where there is none. */
export function systemText(texts: readonly string[]): { system?: string } {
  const said = texts.filter(text => text !== '')
  return said.length === 0 ? {} : { system: said.join('\n\n') }
}
