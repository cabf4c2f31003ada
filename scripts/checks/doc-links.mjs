import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { trackedFiles } from './tracked.mjs'

/** Every relative link of every document leads to a file, and its anchor to a heading of that file. */
export function docLinks(root) {
  const documents = trackedFiles(root).filter(file => file.endsWith('.md'))
  const anchors = new Map(documents.map(file => [file, headingAnchors(readFileSync(join(root, file), 'utf8'))]))
  return documents.flatMap(file =>
    linksOf(readFileSync(join(root, file), 'utf8')).flatMap(link => problemOf(root, file, link, anchors)),
  )
}

/** The anchors that GitHub gives to the headings of a document. */
export function headingAnchors(text) {
  const seen = new Map()
  const anchors = new Set()
  for (const [, heading] of withoutCode(text).matchAll(/^#{1,6}[ \t]+(.+?)[ \t]*#*$/gm)) {
    const slug = slugOf(heading)
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    anchors.add(count === 0 ? slug : `${slug}-${count}`)
  }
  for (const [, id] of text.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id)
  return anchors
}

// --- internal ---

function slugOf(heading) {
  const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '')
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
    .replaceAll(' ', '-')
}

function linksOf(text) {
  const plain = withoutCode(text).replace(/`[^`\n]*`/g, '')
  const inline = [...plain.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)]
  const references = [...plain.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm)]
  return [...inline, ...references].map(([, link]) => link).filter(link => !/^[a-z][a-z0-9+.-]*:/i.test(link))
}

function problemOf(root, file, link, anchors) {
  const [path, anchor] = link.split('#')
  const target = path === '' ? file : normalize(join(dirname(file), decodeURIComponent(path))).replaceAll('\\', '/')
  if (!existsSync(join(root, target))) return [`${file}: the link ${link} leads to no file`]
  if (!anchor || statSync(join(root, target)).isDirectory() || !target.endsWith('.md')) return []
  if (anchors.get(target)?.has(anchor.toLowerCase())) return []
  return [`${file}: the link ${link} names no heading of ${target}`]
}

function withoutCode(text) {
  return text.replace(/^(```|~~~)[\s\S]*?^\1[^\n]*$/gm, '')
}
