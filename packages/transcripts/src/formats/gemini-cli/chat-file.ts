import type { JSONPath } from '../../json/raw-text.js'
import { isObject, type Json, objectsOf, stringOf } from '../../json/shapes.js'

/** One message of a chat, as it stands after all that was written about it. */
export interface Entry {
  readonly value: Json
  readonly where: string
  /** Text of the value at a path in it, where the parsed value would not give it back. */
  readonly rawAt: (path: JSONPath) => string | undefined
  /** Earlier states of it. */
  readonly older: Entry[]
  /** What was taken back right before it: it stands in the place of these. */
  instead: Entry[]
}

/** Folds the records of a chat's log into its messages: one with a known id takes that one's place, a rewind takes back. */
export class ChatFile {
  entries: Entry[] = []
  /** Taken back, and nothing came after. */
  undone: Entry[] = []

  message(value: Json, where: string, rawAt: Entry['rawAt']): void {
    const id = stringOf(value.id)
    const at = id === undefined ? -1 : this.entries.findIndex(each => each.value.id === id)
    const known = this.entries[at]
    if (known === undefined) {
      this.entries.push({ value, where, rawAt, older: [], instead: this.undone })
      this.undone = []
    } else {
      const { instead } = known
      this.entries[at] = { value, where, rawAt, older: [...known.older, known], instead }
    }
  }

  /** Takes back the message and all after it; everything where the id is unknown, as the program itself does. */
  rewind(id: string): void {
    const at = this.entries.findIndex(each => each.value.id === id)
    this.undone = [...this.undone, ...this.entries.splice(Math.max(at, 0))]
  }

  /** A checkpoint: this is the whole list now. What it repeats keeps its place. */
  replaceAll(messages: unknown, where: string): void {
    const known = new Map(this.entries.map(each => [JSON.stringify(each.value), each]))
    const listed = objectsOf(messages).map(([, value]): Entry => {
      const same = known.get(JSON.stringify(value))
      known.delete(JSON.stringify(value))
      return same ?? { value, where, rawAt: () => undefined, older: [], instead: [] }
    })
    this.undone = [...this.undone, ...known.values()]
    this.entries = listed
  }
}

/** One that a log of messages holds, in no other format's shape. */
export function isMessage(value: unknown): value is Json {
  return (
    isObject(value) &&
    TYPES.has(String(value.type)) &&
    'content' in value &&
    !('message' in value) &&
    !('role' in value)
  )
}

const TYPES = new Set(['user', 'gemini', 'info', 'warning', 'error'])
