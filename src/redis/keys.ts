const { createHash } = process.getBuiltinModule('node:crypto')

/** Characters of a key that are kept as they are; longer ones are hashed. */
const longestTag = 128

/** Printable ASCII without braces: what may stand in a hash tag as it is. */
const plain = /^[!-z|~]+$/

/**
 * The hash tag of a user's key. Text that is short and plain is shown, so that a key is found by hand; anything else
 * is a SHA-256 of its UTF-16, so that no two keys become one. Only the hashed ones begin with `#`.
 */
export function tagOf(key: string): string {
  if (key.length <= longestTag && plain.test(key) && key.charCodeAt(0) !== 35) return key
  return `#${createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('base64url')}`
}

/** A text's digest, short enough for a key: 48 bits, for rules that stand side by side under one name. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 8)
}
