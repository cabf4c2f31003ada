import type { Exporter } from '../export.js'
import { stringifyRaw } from '../json/raw-json.js'
import { writeRequest } from './write-request.js'

/** Writes a session as a provider's request body. What the target cannot take, its rules have left out and declared. */
export function bodyFile(target: string): Exporter {
  return ({ entries, request: { system, tools } = {} }) => {
    const messages = entries.map(({ message }) => message)
    const body = writeRequest(target, {
      messages,
      ...(system !== undefined && { system }),
      ...(tools !== undefined && { tools }),
    })
    return { text: `${stringifyRaw(body, 2)}\n`, loss: [] }
  }
}
