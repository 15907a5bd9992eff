const { createHash } = process.getBuiltinModule('node:crypto')

/** Characters of a key that are kept as they are; longer ones are hashed. */
const longestTag = 128

/** Printable ASCII without braces: what may be in a hash tag as it is. */
const plain = /^[!-z|~]+$/

/** What the remote store has hashed in the same way. */
const hashed = /^#[\w-]{43}$/

/**
 * The hash tag of a user's key. Text that is short and plain is shown, so that a key is found by hand; anything else
 * is a SHA-256 of its UTF-16, so that no two keys become one. Only the hashed ones begin with `#`; one that comes so was
 * hashed already.
 */
export function tagOf(key: string): string {
  if (key.length <= longestTag && plain.test(key) && (key.charCodeAt(0) !== 35 || hashed.test(key)))
    return key
  return `#${createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('base64url')}`
}

/** What a user's key is called in Redis, without what follows the hash tag. */
export function keyOf(prefix: string, key: string): string {
  return `${prefix}{${tagOf(key)}}`
}
