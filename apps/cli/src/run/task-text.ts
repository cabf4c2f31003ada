import { text } from 'node:stream/consumers'
import { usageError } from '../failure.js'
import { canAsk } from '../terminal.js'

/** The task as it was typed; `-` reads it from stdin, without the newline that ends its last line. `undefined` where none was given and one can be asked for. */
export async function taskText(given: string | undefined, example: string): Promise<string | undefined> {
  if (given === undefined) {
    if (canAsk()) return undefined
    throw usageError(`expected a task, found none and no terminal to ask on; say what to do: ${example}`)
  }
  const task = given === '-' ? (await text(process.stdin)).replace(/\r?\n$/, '') : given
  if (task.trim() !== '') return task
  throw usageError(`expected a task, found an empty text; say what to do: ${example}`)
}
