/** Plain JSON, as `JSON.parse` gives it back. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject
export type JsonObject = { [key: string]: JsonValue }
