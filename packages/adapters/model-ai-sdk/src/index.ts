export { type AiSdkModelOptions, aiSdkModel } from './ai-sdk-model.js'
export type { LanguageModel, LanguageModelV4 } from './language-model.js'
export { rawFetch } from './raw-fetch.js'
