import { readDocument } from './document.js'
import type { Format, FormatName, Head } from './format.js'
import { aiSdkStream } from './formats/ai-sdk-stream.js'
import { anthropicMessages } from './formats/anthropic-messages.js'
import { claudeCode } from './formats/claude-code.js'
import { claudeStream } from './formats/claude-stream.js'
import { cline } from './formats/cline.js'
import { codex } from './formats/codex.js'
import { dsh } from './formats/dsh.js'
import { geminiCli } from './formats/gemini-cli.js'
import { geminiContents } from './formats/gemini-contents.js'
import { langchain } from './formats/langchain.js'
import { openaiChat } from './formats/openai-chat.js'
import { openaiResponses } from './formats/openai-responses.js'
import { opencode } from './formats/opencode.js'
import { openhands } from './formats/openhands.js'
import { palimpsest } from './formats/palimpsest.js'
import { pi } from './formats/pi.js'
import { sweAgent } from './formats/swe-agent.js'
import { isObject } from './json/shapes.js'
import { readRecords } from './records.js'
import { bytesSource, readText, type Source } from './source.js'

/** In the order in which they are asked: the ones with a mark of their own first, plain message lists last. */
const FORMATS: readonly Format[] = [
  palimpsest,
  claudeCode,
  claudeStream,
  codex,
  pi,
  dsh,
  geminiCli,
  opencode,
  openhands,
  sweAgent,
  cline,
  langchain,
  aiSdkStream,
  geminiContents,
  openaiResponses,
  anthropicMessages,
  openaiChat,
]

export function formatOf(head: Head, wanted: FormatName | 'auto' = 'auto'): Format | undefined {
  return FORMATS.find(format => (wanted === 'auto' ? format.detect(head) : format.name === wanted))
}

export function headOf(source: Source): Head {
  const bytes = source.read(0, Math.min(source.size, HEAD_BYTES))
  let document: { value: unknown } | undefined
  return {
    bytes,
    text: readText(bytesSource(bytes)),
    records: firstRecords(source.size > bytes.length ? wholeLines(bytes) : bytes),
    document() {
      document ??= readDocument(source) ?? { value: undefined }
      return document.value
    },
  }
}

// --- internal ---

const HEAD_BYTES = 64 * 1024
const HEAD_RECORDS = 20

/** Objects inside a line that goes on behind the head are no records. */
function wholeLines(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1)
}

const NEWLINE = 0x0a

function firstRecords(bytes: Uint8Array): Record<string, unknown>[] {
  const records: Record<string, unknown>[] = []
  for (const { value } of readRecords(bytesSource(bytes), { report: () => {} })) {
    if (isObject(value)) records.push(value)
    if (records.length === HEAD_RECORDS) break
  }
  return records
}
