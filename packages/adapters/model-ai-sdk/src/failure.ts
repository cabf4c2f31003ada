import type { ModelFailure } from '@palimpsest/session'
import { isRecord } from './lossless.js'

/** The answer stopped without an end of its own. */
export function truncated(
  message = 'the stream ended before the provider finished its answer; ask again',
): ModelFailure {
  return { code: 'MODEL_STREAM_TRUNCATED', message, retryable: true }
}

export function aborted(): ModelFailure {
  return { code: 'MODEL_ABORTED', message: 'the request was cancelled', retryable: false }
}

/** What `doStream` threw: the request was refused, never sent, or never answered. */
export function failureOfRequest(error: unknown): ModelFailure {
  const status = numberOf(error, 'statusCode')
  if (status !== undefined) return httpFailure(error, status)
  if (isNetworkError(error)) return { code: 'MODEL_NETWORK_ERROR', message: messageOf(error), retryable: true }
  if (isInvalidResponse(error)) return invalidResponse(error)
  return { code: 'MODEL_REQUEST_INVALID', message: messageOf(error), retryable: false }
}

/** What reading the stream threw: the answer had begun and broke off. */
export function failureOfReading(error: unknown): ModelFailure {
  if (isInvalidResponse(error)) return invalidResponse(error)
  return truncated(`the stream broke off: ${messageOf(error)}`)
}

/** An error part: the provider's own error object, or what the SDK could not read. */
export function failureOfPart(error: unknown): ModelFailure {
  if (isInvalidResponse(error)) return invalidResponse(error)
  if (error instanceof Error) {
    return numberOf(error, 'statusCode') === undefined ? failureOfReading(error) : failureOfRequest(error)
  }
  const status = statusOfPart(error)
  return {
    code: 'MODEL_STREAM_ERROR',
    message: messageOf(error),
    retryable: status === undefined || isRetryable(status),
    ...(status === undefined ? {} : { status }),
  }
}

// --- internal ---

function httpFailure(error: unknown, status: number): ModelFailure {
  const retryAfterMs = retryAfter((error as { responseHeaders?: unknown }).responseHeaders)
  return {
    code: 'MODEL_HTTP_ERROR',
    message: withBody(messageOf(error), (error as { responseBody?: unknown }).responseBody),
    retryable: isRetryable(status) || (status < 400 && (error as { isRetryable?: unknown }).isRetryable === true),
    status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

/** Where the SDK could not read the error body it tells the status text only; the body says why. */
function withBody(message: string, body: unknown): string {
  if (typeof body !== 'string' || body.trim() === '') return message
  const known = body.includes(message) || body.includes(JSON.stringify(message).slice(1, -1))
  return known ? message : `${message}: ${body.slice(0, SHOWN_BODY)}`
}

const SHOWN_BODY = 500

function isRetryable(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500
}

/** `retry-after-ms` in milliseconds; `retry-after` in seconds or as a date (RFC 9110, 10.2.3). */
function retryAfter(headers: unknown): number | undefined {
  if (!isRecord(headers)) return undefined
  const ms = Number.parseFloat(String(headers['retry-after-ms']))
  if (ms >= 0) return Math.ceil(ms)
  const text = headers['retry-after']
  if (typeof text !== 'string') return undefined
  const seconds = Number(text)
  const wait = Number.isNaN(seconds) ? Date.parse(text) - Date.now() : seconds * 1000
  return Number.isFinite(wait) ? Math.max(0, Math.ceil(wait)) : undefined
}

/** The status that the provider would have answered with, had the answer not begun. */
function statusOfPart(error: unknown): number | undefined {
  const kind = isRecord(error) ? String(error.type ?? '') : ''
  const code = isRecord(error) ? String(error.code ?? '') : ''
  const numeric = Number(numberOf(error, 'status') ?? (/^[45]\d\d$/.test(code) ? code : Number.NaN))
  return Number.isNaN(numeric) ? (STATUS_OF_TYPE[kind] ?? STATUS_OF_TYPE[code]) : numeric
}

/** https://docs.claude.com/en/api/errors, and the types that OpenAI uses in its stream. */
const STATUS_OF_TYPE: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  context_length_exceeded: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  insufficient_quota: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  api_error: 500,
  server_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}

const INVALID_RESPONSES = new Set([
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'AI_InvalidResponseDataError',
  'AI_EmptyResponseBodyError',
  'AI_NoContentGeneratedError',
])

function isInvalidResponse(error: unknown): boolean {
  return error instanceof Error && INVALID_RESPONSES.has(error.name)
}

/** Invalid data without data is the SDK's word for an end that never came. */
function invalidResponse(error: unknown): ModelFailure {
  const { name, data } = error as { name: string; data?: unknown }
  if (name === 'AI_InvalidResponseDataError' && data === undefined) return truncated(messageOf(error))
  return { code: 'MODEL_RESPONSE_INVALID', message: messageOf(error), retryable: true }
}

function isNetworkError(error: unknown): boolean {
  if ((error as { isRetryable?: unknown } | undefined)?.isRetryable === true) return true
  if (error instanceof TypeError && /fetch failed|failed to fetch/i.test(error.message)) return true
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (/^(ECONN|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_|EHOST|ENET|UND_ERR_)/.test(String((at as { code?: unknown }).code))) {
      return true
    }
  }
  return false
}

function numberOf(error: unknown, member: string): number | undefined {
  const value = (error as Record<string, unknown> | null | undefined)?.[member]
  return typeof value === 'number' ? value : undefined
}

function messageOf(error: unknown): string {
  const message = (error as { message?: unknown } | null | undefined)?.message
  if (typeof message === 'string' && message !== '') return message
  if (typeof error === 'string' && error !== '') return error
  if (error instanceof Error) return error.name
  try {
    return JSON.stringify(error) ?? String(error)
  } catch {
    return String(error)
  }
}
