const { createHash } = process.getBuiltinModule('node:crypto')

/** The longest that a key is kept, ms: ten years, for blocks without end. */
export const longestLifeMs = 315_360_000_000

/** A script, and the SHA-1 that servers know it by. */
export interface Script {
  readonly text: string
  readonly sha: string
}

/** Parts of Lua as one script, which knows how long a key is kept at most. */
export function scriptOf(parts: readonly string[]): Script {
  const text = `local longestLifeMs = ${longestLifeMs}\n${parts.join('')}`
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}
