const { createHash } = process.getBuiltinModule('node:crypto')

/** Characters of a key that are kept; of longer ones there is a hash. */
const longestKey = 256

/** What hashed keys look like. A key that already does is hashed, too, so that no two keys become one. */
const hashed = /^#[\w-]{43}$/

/** A key as it is kept where its text is: bounded, whatever the user chose. Longer ones are a SHA-256 of their UTF-16. */
export function keptKey(key: string): string {
  return key.length <= longestKey && !looksHashed(key) ? key : hashOf(key)
}

/** The hash of a key. */
export function hashOf(key: string): string {
  return `#${createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('base64url')}`
}

/** True for a key that could be the hash of another. */
export function looksHashed(key: string): boolean {
  return key.charCodeAt(0) === 35 && hashed.test(key)
}
