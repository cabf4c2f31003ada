import type { Tool } from '@palimpsest/agent-loop'
import { type BashOptions, bash } from './bash.js'
import { edit } from './edit.js'
import { grep } from './grep.js'
import { read } from './read.js'
import { write } from './write.js'

export interface CodingToolsOptions {
  root: string
  bash?: Omit<BashOptions, 'root'>
}

/** All five tools on one root: read, write, edit, bash, grep. */
export function codingTools(options: CodingToolsOptions): Tool[] {
  const { root } = options
  return [read({ root }), write({ root }), edit({ root }), bash({ root, ...options.bash }), grep({ root })]
}
