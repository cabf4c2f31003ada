import { defineTool, type Tool } from '@palimpsest/agent-loop'
import { quote } from './errors.js'
import { inFolder } from './folder.js'
import { encodeText, replaceFile } from './replace-file.js'
import { locate, openRoot, type Root } from './root.js'

export interface WriteOptions {
  root: string
}

/** The `write` tool: a whole file at once, atomically and durably; missing folders under the root are made. */
export function write(options: WriteOptions): Tool {
  const root = openRoot(options.root)
  return defineTool<WriteInput>({
    name: 'write',
    description:
      'Create a file, or replace the whole content of an existing one. Missing folders are made. The file changes in one ' +
      'step: it holds the old content or the new, never a part. To change a part of a file use edit.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: 'The file, relative to the root.' },
        content: { type: 'string', description: 'The complete new content, stored as UTF-8 exactly as given.' },
      },
      required: ['path', 'content'],
      additionalProperties: false,
    },
    effect: 'write',
    execute: (input, { signal }) => writeFile(root, input, signal),
  })
}

// --- internal ---

interface WriteInput {
  path: string
  content: string
}

async function writeFile(root: Root, input: WriteInput, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted()
  const bytes = encodeText(input.content, 'The content')
  const place = await locate(root, input.path)
  const before = await inFolder(root, place, { create: true }, (folder, name) =>
    replaceFile(folder, name, place, bytes),
  )
  return `${before === undefined ? 'Created' : 'Replaced'} ${quote(place.name)}: ${bytes.length} bytes.`
}
