/** The one header that the proxies in front maintain (RFC 7239 §8.1: others pass through from the client). */
export type ForwardedSource = 'x-forwarded-for' | 'forwarded'

/** A field as Node gives it, or as separate lines in order (RFC 9110 §5.3 joins them with commas). */
export type FieldValue = string | readonly string[] | undefined

/** Entries that are looked at, from the right: what a request can cost stays bounded, whatever it sends. */
export const maxEntries = 32

/**
 * The entries of a field as they are written, nearest hop first, at most 32, without the empty ones (RFC 9110 §5.6.1.2).
 * An entry that is no address is any text that `canonicalAddress` refuses: `unknown`, `_hidden`, a name, a bad port.
 *
 * `forwarded` is RFC 7239 §4: IPv6 in brackets inside quotes, each parameter once an element. It is read from the right
 * as far as its elements parse: a proxy puts its own at the end, and what the client sent stands before it, so a quote
 * that the client left open swallows nothing. Where an element cannot be parsed the list ends with null. Blanks around
 * `;` are let pass, as RFC 9110 §5.6.6 does for parameters. Never throws.
 *
 * @example forwardedEntries('for="192.0.2.1, for=unknown, for="[2001:db8::1]:443"', 'forwarded')
 * // ['[2001:db8::1]:443', 'unknown', null]
 */
export function forwardedEntries(value: FieldValue, source: ForwardedSource): (string | null)[] {
  if (!value) return []
  const field = typeof value === 'string' ? value : value.join(', ')
  return source === 'forwarded' ? forwardedNodes(field) : listEntries(field)
}

/** True for an entry by which a proxy declines to name its client (RFC 7239 §6.2 and §6.3), or leaves the name out. */
export function namesNobody(entry: string): boolean {
  return entry === '' || /^(?:unknown|_[A-Za-z0-9._-]+)(?::.*)?$/i.test(entry)
}

function listEntries(field: string): string[] {
  const entries: string[] = []
  let end = field.length
  while (end > 0 && entries.length < maxEntries) {
    const comma = field.lastIndexOf(',', end - 1)
    const entry = trimBlanks(field, comma + 1, end)
    if (entry !== '') entries.push(entry)
    end = comma
  }
  return entries
}

/** A forwarded-pair: token "=" ( token / quoted-string ), RFC 7239 §4 with the rules of RFC 9110 §5.6.2 and §5.6.4. */
const pair =
  /([\w!#$%&'*+.^`|~-]+)=(?:([\w!#$%&'*+.^`|~-]+)|"((?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*)")/y

/** Stands for a node that may not be read, as no address is written so. */
const unusable = '?'

function forwardedNodes(field: string): (string | null)[] {
  const nodes: (string | null)[] = []
  let end = field.length
  while (end > 0 && nodes.length < maxEntries) {
    let comma = end
    let node: string | null
    // A comma may be inside of quotes: then what follows it does not parse, and the element begins further left.
    do {
      comma = comma > 0 ? field.lastIndexOf(',', comma - 1) : -1
      node = elementNode(field, comma + 1, end)
    } while (node === null && comma >= 0)
    if (node === null) return [...nodes, null]
    if (skipBlanks(field, comma + 1) < end) nodes.push(node)
    end = comma
  }
  return nodes
}

/** The node of `for` in the element field[start, end), `''` where it has none; null where that is no element. */
function elementNode(field: string, start: number, end: number): string | null {
  const names = new Set<string>()
  let node = ''
  let isRepeated = false
  for (let at = skipBlanks(field, start); at < end; at = skipBlanks(field, at + 1)) {
    pair.lastIndex = at
    const match = pair.exec(field)
    if (match !== null) {
      const name = match[1]!.toLowerCase()
      if (names.has(name)) isRepeated = true
      names.add(name)
      if (name === 'for') node = match[2] ?? match[3]!.replace(/\\(.)/g, '$1')
      at = skipBlanks(field, pair.lastIndex)
    }
    if (at > end || (at < end && field[at] !== ';')) return null
  }
  return isRepeated || isBareIPv6(node) ? unusable : node
}

/** RFC 7239 §6.1 always has IPv6 in brackets; X-Forwarded-For has no such rule. */
function isBareIPv6(node: string): boolean {
  return node[0] !== '[' && node.indexOf(':') !== node.lastIndexOf(':')
}

function trimBlanks(field: string, start: number, end: number): string {
  const from = skipBlanks(field, start)
  let to = end
  while (to > from && isBlank(field, to - 1)) to--
  return from < to ? field.slice(from, to) : ''
}

function skipBlanks(field: string, start: number): number {
  let at = start
  while (isBlank(field, at)) at++
  return at
}

/** SP and HTAB, the only blanks of a field value (RFC 9110 §5.6.3). */
function isBlank(field: string, at: number): boolean {
  const code = field.charCodeAt(at)
  return code === 0x20 || code === 0x09
}
