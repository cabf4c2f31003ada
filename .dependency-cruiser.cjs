// The arrows. Tests compose freely; sources do not.
const ours = '^(packages|apps|examples|benches)/'
const sources = path => `^${path}/src/`
const session = 'packages/core/session'
const host = 'packages/core/host'
const loop = 'packages/core/agent-loop'
const port = 'packages/session-persistence/session-persistence'

/** Sources of `path` may import, of ours, nothing but themselves (a group in `path` is one package) and `allowed`. */
const only = (name, path, allowed, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: sources(path) },
  to: { path: ours, pathNot: [path.startsWith('(') ? '$1' : path, ...allowed].map(each => `^${each}/`) },
})

module.exports = {
  forbidden: [
    only('kernel-alone', session, [], 'the kernel imports nothing of ours; move the code to the package that needs it'),
    {
      name: 'kernel-without-node',
      comment: 'the kernel runs in a browser: take what you need as an argument instead',
      severity: 'error',
      from: { path: sources(session) },
      to: { dependencyTypes: ['core', 'npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg', 'npm-unknown'] },
    },
    only(
      'host-below-loop',
      host,
      [session],
      'the host knows the kernel only; the loop hangs on the host, not the other way',
    ),
    only('loop', loop, [session, host], 'the loop imports the kernel and the host only'),
    only('port', port, [session], 'the storage port imports the kernel only'),
    only(
      'backends',
      '(packages/session-persistence/session-persistence-[^/]+)',
      [session, port],
      'a backend imports the kernel and the port only',
    ),
    only('model-adapters', '(packages/adapters/[^/]+)', [session], 'a model adapter imports the kernel only'),
    only('history', 'packages/history', [session, host], 'history edits import the kernel and the host only'),
    only(
      'invariants',
      'packages/support/invariants',
      [session, host],
      'the invariants import the kernel and the host only',
    ),
    only('transcripts', 'packages/transcripts', [session], 'transcripts import the kernel only'),
    only('provider-rules', 'packages/provider-rules', [session], 'the rules of providers import the kernel only'),
    only('tools', 'packages/tools', [session, loop], 'tools import the kernel and the loop only'),
    {
      name: 'nobody-imports-apps',
      comment: 'only apps and examples compose: move what is shared into a package',
      severity: 'error',
      from: { path: ours, pathNot: '^apps/[^/]+/' },
      to: { path: '^(apps|examples|benches)/', pathNot: '^(examples|benches)/' },
    },
    {
      name: 'sources-without-tests',
      comment: 'a source may not import a test',
      severity: 'error',
      from: { path: '/src/' },
      to: { path: '/test/' },
    },
    {
      name: 'no-cycles',
      comment: 'an import cycle: put what both need into a third file',
      severity: 'error',
      from: { path: '/src/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'resolvable',
      comment: 'it cannot be resolved: declare it in package.json or mend the path',
      severity: 'error',
      from: { path: '/src/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|node_modules/[.])' },
    tsPreCompilationDeps: true,
  },
}
