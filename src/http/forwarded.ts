import { canonicalAddress } from './address.js'

/** The one header that the proxies in front maintain (RFC 7239 §8.1: others pass through from the client). */
export type ForwardedSource = 'x-forwarded-for' | 'forwarded'

/** A field as Node gives it, or as separate lines in order (RFC 9110 §5.3 joins them with commas). */
export type FieldValue = string | readonly string[] | undefined

/** Entries that are looked at, from the right: what a request can cost stays bounded, whatever it sends. */
export const maxEntries = 32

/**
 * Canonical addresses that the field names, nearest hop first: read from the right, cut at the first entry that is
 * not an address (`unknown`, `_hidden`, a name, a bad port, a missing `for`), and after 32 entries. `forwarded` is
 * RFC 7239 §4: IPv6 in brackets inside quotes, each parameter once an element; where the grammar is broken anywhere
 * nothing is named, since an unbalanced quote of the client's can swallow what the proxy appended. Blanks around `;`
 * are let pass, as RFC 9110 §5.6.6 does for parameters. Never throws.
 *
 * @example forwardedChain('192.0.2.1, unknown, 203.0.113.7, 10.0.0.2:443', 'x-forwarded-for')
 * // ['10.0.0.2', '203.0.113.7']
 */
export function forwardedChain(value: FieldValue, source: ForwardedSource): string[] {
  const chain: string[] = []
  for (const entry of forwardedEntries(value, source)) {
    const address = canonicalAddress(entry)
    if (address === null) break
    chain.push(address)
  }
  return chain
}

/**
 * The entries behind `forwardedChain` as they are written, nearest first, at most 32, empty elements left out
 * (RFC 9110 §5.6.1.2). An entry that names no address can be any text that `canonicalAddress` refuses.
 */
export function forwardedEntries(value: FieldValue, source: ForwardedSource): string[] {
  if (!value) return []
  const field = typeof value === 'string' ? value : value.join(', ')
  return source === 'forwarded' ? forwardedNodes(field) : listEntries(field)
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

function forwardedNodes(field: string): string[] {
  const nodes: string[] = []
  const names = new Set<string>()
  let node = ''
  let empty = true
  for (let at = 0; ; at++) {
    at = skipBlanks(field, at)
    pair.lastIndex = at
    const match = pair.exec(field)
    if (match !== null) {
      const name = match[1]!.toLowerCase()
      if (names.has(name)) return []
      names.add(name)
      if (name === 'for') node = match[2] ?? match[3]!.replace(/\\(.)/g, '$1')
      at = skipBlanks(field, pair.lastIndex)
      empty = false
    }
    if (field[at] === ';') {
      empty = false
      continue
    }
    if (at < field.length && field[at] !== ',') return []
    if (!empty) nodes.push(isBareIPv6(node) ? '' : node)
    if (at >= field.length) return nodes.slice(-maxEntries).reverse()
    names.clear()
    node = ''
    empty = true
  }
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
