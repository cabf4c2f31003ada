/**
 * What a child process may know of our environment: where programs are, who and where the user is, language and
 * terminal. Everything else, provider keys above all, stays here unless the caller names it in `extra`.
 * A child of the same user can still read `/proc/<our pid>/environ`; only another user or a container prevents that.
 */
export function childEnvironment(
  extra: Readonly<Record<string, string>> = {},
  from: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const kept = Object.entries(from).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && isAllowed(entry[0]) && !entry[1].startsWith('()'),
  )
  return { ...Object.fromEntries(kept), ...extra }
}

// --- internal ---

const ALLOWED = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'COLORTERM', 'NO_COLOR', 'LANG', 'LANGUAGE', 'TZ'],
  ...['TMPDIR', 'TMP', 'TEMP'],
  ...['SYSTEMROOT', 'SYSTEMDRIVE', 'PATHEXT', 'COMSPEC', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'PROGRAMFILES'],
])

function isAllowed(name: string): boolean {
  return ALLOWED.has(process.platform === 'win32' ? name.toUpperCase() : name) || /^LC_[A-Z]+$/.test(name)
}
