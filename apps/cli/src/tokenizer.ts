import type { CountTokens } from '@palimpsest/history'

/** What the command counts with. Other models' tokenizers differ by some per cent: near enough to choose by. */
export const TOKENIZER = 'o200k_base'

/** Loads the tables only where something is counted. */
export async function loadTokenizer(): Promise<CountTokens> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
  return text => piecesOf(text).reduce((sum, piece) => sum + countTokens(piece, AS_TEXT), 0)
}

// --- internal ---

/** Stored text may look like a control token, and is text all the same. */
const AS_TEXT = { disallowedSpecial: new Set<string>() }

/**
 * The tokenizer takes the square of the longest run without a break, so that 100 kB of one letter would
 * take it seconds. Cut before white space nothing changes; where there is none, a cut costs a token or two.
 */
function piecesOf(text: string): readonly string[] {
  return text.length <= PIECE_CHARACTERS ? [text] : (text.match(PIECES) ?? [])
}

const PIECE_CHARACTERS = 1024
const PIECES = /[\s\S]{1,1023}\S(?=\s)|[\s\S]{1,1024}/g
