const slash = 0x2f
const question = 0x3f
const hash = 0x23

/**
 * The path of a request as rules and keys compare it: without query and host, in lower case, without a slash at its end or
 * two in a row, and with what is percent-encoded decoded, save for slashes. Routers differ in which of these they tell
 * apart; a limit that did could be passed by writing a path in another way.
 */
export function comparablePath(url: string): string {
  let at = 0
  let before = 0
  if (url.charCodeAt(0) !== slash) return inOneForm(withoutHost(url))
  for (; at < url.length; at++) {
    const code = url.charCodeAt(at)
    if (code === question || code === hash) break
    if (isOdd(code) || (code === slash && before === slash)) return inOneForm(url)
    before = code
  }
  if (at > 1 && before === slash) at--
  return at === url.length ? url : url.slice(0, at)
}

/** What another form may hide in: capitals, `%`, `\` and what is no ASCII. */
function isOdd(code: number): boolean {
  return (code >= 0x41 && code <= 0x5a) || code === 0x25 || code === 0x5c || code > 0x7e
}

/** The path of an URL in absolute form (RFC 9112 §3.2.2). */
function withoutHost(url: string): string {
  const [, path = ''] = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(.*)$/i.exec(url) ?? []
  return path.startsWith('/') ? path : `/${path}`
}

function inOneForm(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1)
  const text = decoded(path)
    .toLowerCase()
    .replace(/\\/g, '/')
    .replace(/\/{2,}/g, '/')
  return text.length > 1 && text.endsWith('/') ? text.slice(0, -1) : text
}

function decoded(path: string): string {
  if (!path.includes('%')) return path
  return path.replace(/(?:%[0-9a-f]{2})+/gi, decodedRun)
}

/** What is no UTF-8 stays as it is. */
function decodedRun(run: string): string {
  try {
    return decodeURIComponent(run.replace(/%2f/gi, '%252F').replace(/%5c/gi, '%255C'))
  } catch {
    return run
  }
}
