import type { LanguageModelV2, LanguageModelV3 } from '@ai-sdk/provider'
import { type AiSdkModelOptions, aiSdkModel, type LanguageModelV4 } from '@palimpsest/model-ai-sdk'
import type { Chunk } from '@palimpsest/session'
import { expect } from 'vitest'
import { collect } from './loopback.js'

export type Spec = 'v2' | 'v3' | 'v4'
export type Part = Record<string, unknown> & { type: string }
export const SPECS: Spec[] = ['v2', 'v3', 'v4']

/** A model of the given spec that streams `parts` and keeps what it was called with. */
export function fake(
  spec: Spec,
  parts: unknown[],
  more: {
    provider?: string
    modelId?: string
    providerOptionsName?: string
    doStream?: unknown
    options?: AiSdkModelOptions
  } = {},
) {
  const { options, ...members } = more
  const calls: Record<string, never>[] = []
  const model = {
    specificationVersion: spec,
    provider: 'fake.chat',
    modelId: 'fake-1',
    supportedUrls: {},
    doStream: async (options: Record<string, never>) => {
      calls.push(options)
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of parts) controller.enqueue(part)
            controller.close()
          },
        }),
      }
    },
    ...members,
  }
  return { calls, port: aiSdkModel(model as unknown as LanguageModelV2 | LanguageModelV3 | LanguageModelV4, options) }
}

export const finish = (spec: Spec, reason = 'stop', more: object = {}): Part =>
  spec === 'v2'
    ? { type: 'finish', finishReason: reason, usage: {}, ...more }
    : {
        type: 'finish',
        finishReason: { unified: reason, raw: reason },
        usage: { inputTokens: {}, outputTokens: {} },
        ...more,
      }

/** The chunks of these parts; each of them lossless JSON. */
export async function chunksOf(spec: Spec, ...parts: Part[]): Promise<Chunk[]> {
  const chunks = await collect(fake(spec, [{ type: 'stream-start', warnings: [] }, ...parts]).port)
  expect(JSON.parse(JSON.stringify(chunks))).toEqual(chunks)
  return chunks
}
