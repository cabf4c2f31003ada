import type { Part, ToolContent, ToolResultPart, UserPart } from '@palimpsest/session'
import { type Draft, isOpaque, type Origin, type Piece } from '../draft.js'
import { type Sniffed, sniffImage } from '../image.js'
import { TARGETS, type Target } from '../request.js'
import type { Rule } from '../rule.js'
import { type Shown, shownBy, withMedia } from '../shown.js'
import { mediaLeftOut } from '../texts.js'

export const mediaHaveAPlace: Rule = {
  name: 'media-have-a-place',
  targets: TARGETS,
  codes: ['media.not-taken'],
  source: 'ChatLunaLab/chatluna#867, platform.openai.com/docs/api-reference/chat/create (content parts by role)',
  healing: 'where none may stand, a note says what is left out',
  heal(draft) {
    for (const spot of spots(draft)) {
      const why = whyNotTaken(spot, draft)
      if (why === undefined) continue
      draft.report('media.not-taken', 'info', spot.origin)
      leaveOut(spot, draft, why)
    }
  },
}

export const imagesAreDecodable: Rule = {
  name: 'images-are-decodable',
  targets: ['anthropic', 'openai-chat', 'openai-responses', 'gemini'],
  codes: ['media.undecodable'],
  source:
    'anthropics/claude-code#53228, anthropics/claude-code#56016, openai/codex#7214, ai.google.dev/api/caching#Content',
  healing: 'bytes that are no image become a note; a wrong declared type is corrected',
  heal(draft) {
    for (const spot of spots(draft)) {
      const { data, mediaType, isImage } = spot.shown
      if (!isImage || data === undefined) continue
      const sniffed = sniffImage(data)
      const declared = mediaType === undefined ? {} : { declared: mediaType }
      if (sniffed === undefined) {
        draft.report('media.undecodable', 'error', spot.origin, declared)
        leaveOut(spot, draft, 'its bytes are no image of a supported kind')
      } else if (sniffed.mediaType !== mediaType) {
        const isNamed = mediaType !== undefined && mediaType !== 'image/jpg' && mediaType !== 'image/*'
        if (isNamed)
          draft.report('media.undecodable', 'error', spot.origin, { ...declared, sniffed: sniffed.mediaType })
        spot.put(withMedia(spot.part, data, sniffed.mediaType))
      }
    }
  },
}

/** Anthropic's limits: of the bytes of one image, of their number, of the size of one and of one among many. */
export const imagesFit: Rule = {
  name: 'images-fit',
  targets: ['anthropic'],
  codes: ['media.too-large', 'media.too-many', 'media.too-large-for-many'],
  source:
    'docs.claude.com/en/docs/build-with-claude/vision, anthropics/claude-code#10395, damianvtran/local-operator#153',
  healing: 'an image over a limit becomes a note with its size',
  heal(draft) {
    const images = [...spots(draft)].filter(({ shown }) => shown.isImage).map(spot => ({ spot, size: sizeOf(spot) }))
    const fitting = images.filter(({ spot, size }) => {
      const why = overLimit(spot.shown, size, SIZE)
      if (why === undefined) return true
      draft.report('media.too-large', 'info', spot.origin)
      leaveOut(spot, draft, why)
      return false
    })
    for (const { spot } of fitting.splice(0, Math.max(0, fitting.length - COUNT))) {
      draft.report('media.too-many', 'info', spot.origin, { limit: COUNT })
      leaveOut(spot, draft, `more than ${COUNT} images`)
    }
    if (fitting.length <= MANY) return
    for (const { spot, size } of fitting) {
      const why = overLimit(spot.shown, size, SIZE_OF_MANY)
      if (why === undefined || size === undefined) continue
      const width = Math.max(size.width, size.height)
      const members = { width, limit: SIZE_OF_MANY, images: fitting.length }
      draft.report('media.too-large-for-many', 'error', spot.origin, members)
      leaveOut(spot, draft, why)
    }
  },
}

// --- internal ---

const BYTES = 5 * 1024 * 1024
const COUNT = 100
const MANY = 20
const SIZE = 8000
const SIZE_OF_MANY = 2000

/** A place in the draft where something is shown. */
interface Spot {
  readonly shown: Shown
  readonly part: UserPart | ToolContent
  readonly where: 'user' | 'assistant' | 'result'
  readonly origin: Origin
  put(part: Part | ToolContent): void
}

function* spots(draft: Draft): Generator<Spot> {
  for (const { role, pieces } of draft.entries) {
    for (const piece of pieces) {
      if (piece.part.type === 'tool-result') {
        if (role === 'tool') yield* resultSpots(piece as Piece<ToolResultPart>, draft)
      } else if ((piece.part.type === 'image' || piece.part.type === 'file') && !isOpaque(piece, draft.facts)) {
        const { part, origin } = piece
        const where = role === 'assistant' ? 'assistant' : 'user'
        const put = (other: Part | ToolContent) => {
          piece.part = other as Part
        }
        yield { shown: shownBy(part)!, part, where, origin, put }
      }
    }
  }
}

function* resultSpots(piece: Piece<ToolResultPart>, draft: Draft): Generator<Spot> {
  const { origin } = piece
  if (piece.part.output.type !== 'content') return
  for (const [i, part] of piece.part.output.value.entries()) {
    if (part.type === 'text' || isOpaque({ part: part as never, origin }, draft.facts)) continue
    const put = (other: Part | ToolContent) => {
      const { output } = piece.part
      if (output.type !== 'content') return
      piece.part = { ...piece.part, output: { ...output, value: output.value.with(i, other as ToolContent) } }
    }
    yield { shown: shownBy(part) ?? { isImage: false }, part, where: 'result', origin, put }
  }
}

function whyNotTaken({ where, shown }: Spot, { facts, target }: Draft): string | undefined {
  if (!facts.media[where]) return where === 'result' ? 'this result takes text only' : 'the target takes text only here'
  const { isImage, data, url, mediaType = '' } = shown
  if (data === undefined && url === undefined) return 'another provider keeps it'
  if (data === '' && !isImage) return 'it is empty'
  if (url !== undefined && !ADDRESS[target].test(url)) return 'it lies where the target cannot read it'
  if (isImage)
    return target === 'gemini' && where === 'result' && url !== undefined ? 'only its address is known' : undefined
  return FILES[target].test(mediaType) || url !== undefined ? undefined : `no ${mediaType || 'such'} files are taken`
}

const FILES: Record<Target, RegExp> = {
  anthropic: /^application\/pdf$/,
  'openai-chat': /^(application\/pdf|audio\/(wav|mpeg|mp3))$/,
  'openai-responses': /./,
  gemini: /./,
  deepseek: /^$/,
}

const WEB = /^https?:/i
/** Where Gemini keeps files has names of its own. */
const ADDRESS: Record<Target, RegExp> = {
  anthropic: WEB,
  'openai-chat': WEB,
  'openai-responses': WEB,
  gemini: /^(?!file:)./i,
  deepseek: WEB,
}

function leaveOut(spot: Spot, draft: Draft, why: string): void {
  const kind = spot.shown.isImage ? 'image' : 'file'
  draft.lose('media', why)
  spot.put({ type: 'text', text: mediaLeftOut(kind, why) })
}

function sizeOf({ shown: { data } }: Spot): Sniffed | undefined {
  return data === undefined ? undefined : sniffImage(data)
}

function overLimit({ data = '' }: Shown, size: Sniffed | undefined, limit: number): string | undefined {
  if (data.length > BYTES) return `${data.length} characters of base64, over the limit of ${BYTES}`
  if (size === undefined || (size.width <= limit && size.height <= limit)) return undefined
  return `${size.width} x ${size.height} px, over the limit of ${limit} px`
}
