import type { LanguageModelV2, LanguageModelV3 } from '@ai-sdk/provider'
import { aiSdkModel, type LanguageModelV4, rawFetch } from '@palimpsest/model-ai-sdk'
import type { Message, ModelPort, Session } from '@palimpsest/session'
import type { ModelMessage } from 'ai'
import { expectTypeOf, test } from 'vitest'

test('derived messages can be handed to the AI SDK as they are', () => {
  expectTypeOf<Message[]>().toExtend<ModelMessage[]>()
  expectTypeOf<ReturnType<Session['deriveMessages']>>().toExtend<ModelMessage[]>()
})

test('models of three specs are taken, others are not', () => {
  expectTypeOf<LanguageModelV2>().toExtend<Parameters<typeof aiSdkModel>[0]>()
  expectTypeOf<LanguageModelV3>().toExtend<Parameters<typeof aiSdkModel>[0]>()
  expectTypeOf<LanguageModelV4>().toExtend<Parameters<typeof aiSdkModel>[0]>()
  expectTypeOf(aiSdkModel).returns.toEqualTypeOf<ModelPort>()
  expectTypeOf(rawFetch()).toEqualTypeOf<typeof globalThis.fetch>()
  // @ts-expect-error a model's name is no model
  const _named = () => aiSdkModel('gpt-x')
  // @ts-expect-error nor is a model of spec V1
  const _first = () => aiSdkModel({ specificationVersion: 'v1', provider: 'p', modelId: 'm', doStream: async () => {} })
})
