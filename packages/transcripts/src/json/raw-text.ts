import { findNodeAtLocation, type JSONPath, type Node, parseTree } from 'jsonc-parser'
import { ABOVE_ARGUMENTS, nestsTooDeep } from './depth.js'
import { valueAt } from './value-at.js'

export type { JSONPath } from 'jsonc-parser'

/**
 * The text of the value at `path` as it stands in `json`, where `JSON.stringify` of the parsed value would not give
 * it back but for white space: a number that a double cannot hold, keys that a parser puts in another order, a key
 * used twice, what nests deeper than a log may hold. `undefined` where nothing is lost, which is nearly always and costs one look for risky characters.
 */
export function rawTextAt(json: string, path: JSONPath): string | undefined {
  return new RawTexts(json).at(path)
}

/** `rawTextAt` for many places of one text, which is parsed once and only where it is risky. */
export class RawTexts {
  readonly #json: string
  readonly #isDeep: boolean
  readonly #isRisky: boolean
  #tree: Node | undefined

  constructor(json: string) {
    this.#json = json
    this.#isDeep = nestsTooDeep(json, ABOVE_ARGUMENTS)
    this.#isRisky = this.#isDeep || RISKY.test(json)
  }

  at(path: JSONPath): string | undefined {
    if (!this.#isRisky) return undefined
    const raw = this.textAt(path)
    if (raw === undefined || (this.#isDeep && nestsTooDeep(raw, ABOVE_ARGUMENTS))) return raw
    if (!RISKY.test(`${raw} `)) return undefined
    return compact(raw, treeOf(raw)!) === JSON.stringify(JSON.parse(raw)) ? undefined : raw
  }

  /** The text of the value, whatever it is. `undefined` where there is none. */
  textAt(path: JSONPath): string | undefined {
    if (this.#isDeep) return valueAt(this.#json, path)
    this.#tree ??= treeOf(this.#json)
    const node = this.#tree && findNodeAtLocation(this.#tree, path)
    return node && this.#json.slice(node.offset, node.offset + node.length)
  }
}

export interface UnsafeNumber {
  /** A JSON pointer from the root of the text. */
  readonly path: string
  /** Its digits as they stand. */
  readonly raw: string
}

/** Numbers that a double cannot hold. */
export function unsafeNumbers(json: string): UnsafeNumber[] {
  if (!LONG_NUMBER.test(json)) return []
  const found: UnsafeNumber[] = []
  const visit = (node: Node | undefined, path: string): void => {
    if (node === undefined) return
    if (node.type === 'number') {
      const raw = json.slice(node.offset, node.offset + node.length)
      if (!isExact(raw)) found.push({ path, raw })
    } else if (node.type === 'array') {
      for (const [i, child] of (node.children ?? []).entries()) visit(child, `${path}/${i}`)
    } else if (node.type === 'object') {
      for (const { children } of node.children ?? [])
        visit(children?.[1], `${path}/${escapePointer(children?.[0]?.value)}`)
    }
  }
  visit(treeOf(json), '')
  return found
}

// --- internal ---

/** A long number, an exponent, a fraction that ends in zero, a minus zero, a key that looks like an index. */
const RISKY = /\d{16}|\d[eE][+-]?\d|\.\d*0[\s,\]}]|-0[\s,\]}.]|"\d+"\s*:/
const LONG_NUMBER = /[:[,]\s*-?(?:\d{16}|\d+\.\d{15}|[\d.]+[eE][+-]?\d)/

function treeOf(json: string): Node | undefined {
  try {
    return parseTree(json)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** The text without white space between tokens. */
function compact(raw: string, node: Node): string {
  const write = ({ type, children = [], offset, length }: Node): string => {
    if (type === 'object') return `{${children.map(write).join(',')}}`
    if (type === 'array') return `[${children.map(write).join(',')}]`
    if (type === 'property') return children.map(write).join(':')
    const text = raw.slice(offset - node.offset, offset - node.offset + length)
    return type === 'string' ? JSON.stringify(JSON.parse(text)) : text
  }
  return write(node)
}

/** Whether the double of that text, written out, is that number: 1.0 and 1e2 are, 9007199254740993 is not. */
function isExact(raw: string): boolean {
  const value = Number(raw)
  return Number.isFinite(value) && decimal(raw) === decimal(String(value))
}

/** Sign, digits without zeros at either end, and the place of the point. */
function decimal(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const place = Number(exponent) - fraction.length
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${sign}${significant}e${place + digits.length - significant.length}`
}

function escapePointer(key: unknown): string {
  return String(key).replaceAll('~', '~0').replaceAll('/', '~1')
}
