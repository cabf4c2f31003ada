import type { JsonObject, ModelRequest } from '@palimpsest/session'
import { isObject } from '../json/shapes.js'

export type Tool = NonNullable<ModelRequest['tools']>[number]

/** Whether the tool takes free text in place of JSON. Its schema is marked for that (`freeTextTool`). */
export function isFreeText({ inputSchema }: Tool): boolean {
  return MARK in inputSchema
}

/** The grammar that its text has to follow, where one was declared. */
export function textFormat({ inputSchema }: Tool): { format?: JsonObject } {
  const format = inputSchema[MARK]
  return isObject(format) ? { format: format as JsonObject } : {}
}

/** The schema as other endpoints may see it. */
export function withoutMark(schema: JsonObject): JsonObject {
  if (!(MARK in schema)) return schema
  const { [MARK]: _, ...rest } = schema
  return rest
}

// --- internal ---

const MARK = 'x-free-text'
