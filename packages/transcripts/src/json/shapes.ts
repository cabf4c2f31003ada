export type Json = Record<string, unknown>

export function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

/** `[]` for what is none. */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** The objects of a list, with their index in it. */
export function objectsOf(value: unknown): [number, Json][] {
  return listOf(value).flatMap((each, i) => (isObject(each) ? [[i, each] as [number, Json]] : []))
}

export function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** Epoch ms of an ISO date or of a number of ms. */
export function timeOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Math.abs(value) <= LAST_DATE ? value : undefined
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

/** As an ISO date; the first or last there is for a number beyond. */
export function isoTime(time: number): string {
  return new Date(Math.max(-LAST_DATE, Math.min(LAST_DATE, time))).toISOString()
}

// --- internal ---

/** Of a `Date`, in ms. */
const LAST_DATE = 8.64e15
