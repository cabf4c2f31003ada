import { bytesSource, RawJson } from '@palimpsest/transcripts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { redact } from '../src/transcripts/redact.js'
import { findSecrets, scanSecrets } from '../src/transcripts/secrets.js'

// Made up in the shape of the real ones; the first is AWS's published example.
const SECRETS = {
  'aws-access-key-id': 'AKIAIOSFODNN7EXAMPLE',
  'github-token': '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',
  'npm-access-token': 'npm_abcdefghijklmnopqrstuvwxyz0123456789',
  'postgresql-connection': 'postgres://user:hunter2pass@db.example.com/x',
}

describe('secrets', () => {
  test.each(Object.entries(SECRETS))('%s is found in the middle of a text', async (kind, text) => {
    expect(await findSecrets(`before ${text} after`)).toContainEqual({ kind, text })
  })

  test('a commit, an id, a hash and a picture are none', async () => {
    const texts = [
      '3f786850e387550fdab836ed7e6dc881de23001b',
      'toolu_01A09q90qw90lq917835lq9',
      'AKIA is a prefix',
      '123456789012',
    ]
    for (const text of texts) expect(await findSecrets(text)).toEqual([])
  })

  test('what a transcript says cannot switch the search off', async () => {
    const text = `// secretlint-disable\n${SECRETS['github-token']}`
    expect(await findSecrets(text)).toHaveLength(1)
  })

  test('are named by place and kind, and never shown', async () => {
    const records = [{ type: 'a', text: 'plain' }, { deep: { 'a/b': [`x ${SECRETS['aws-access-key-id']}`] } }]
    const file = new TextEncoder().encode(records.map(record => JSON.stringify(record)).join('\n'))
    const findings = await scanSecrets(bytesSource(file), 'codex')
    expect(findings).toEqual([
      { code: 'secret.found', severity: 'warning', where: 'line 2', path: '/deep/a~1b/0', kind: 'aws-access-key-id' },
    ])
  })

  test('in a signature or in encrypted reasoning are not looked for, and not touched', async () => {
    const secret = SECRETS['aws-access-key-id']
    const value = { signature: `${secret}==`, encrypted_content: secret, thoughtSignature: secret, text: secret }
    expect(await redact(value)).toEqual({ ...value, text: '[redacted:aws-access-key-id]' })
    const file = new TextEncoder().encode(`${JSON.stringify({ ...value, text: '' })}\n{}\n`)
    expect(await scanSecrets(bytesSource(file), 'codex')).toEqual([])
  })

  test('go out of raw texts too, and a second pass changes nothing', async () => {
    const value = { input: new RawJson(`{"key":"${SECRETS['github-token']}","n":9007199254740993}`) }
    const once = await redact(value)
    expect(once.input.text).toBe('{"key":"[redacted:github-token]","n":9007199254740993}')
    expect(await redact(once)).toEqual(once)
  })

  test('redacting changes nothing else, whatever the value', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async value => {
        expect(await redact(value)).toEqual(value)
      }),
      { numRuns: 50 },
    )
  })
})
