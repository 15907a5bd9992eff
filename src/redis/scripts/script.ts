import givenTime from '../lua/given-time.lua'
import serverTime from '../lua/server-time.lua'

const { createHash } = process.getBuiltinModule('node:crypto')

/** The longest that a key is kept, ms: ten years, for blocks without end. */
export const longestLifeMs = 315_360_000_000

/** Where a script has the time from: the server's clock, or in tests what takes the place of the ticket. */
export type TimeSource = 'server' | 'given'

/** A script, and the SHA-1 that servers know it by. */
export interface Script {
  readonly text: string
  readonly sha: string
  /** True if it has Lua of the user's, which may fail by itself. */
  readonly hasForeign: boolean
}

/** Scripts by their text: limiters that need the same one share its calls. */
const scripts = new Map<string, Script>()

/** Parts of Lua as one script, which reads the time and refuses what comes too late, and knows how long a key is kept. */
export function scriptOf(time: TimeSource, parts: readonly string[], hasForeign = false): Script {
  const begin = time === 'server' ? serverTime : givenTime
  const text = [`local longestLifeMs = ${longestLifeMs}\n`, begin, ...parts].join('')
  let script = scripts.get(text)
  if (script === undefined) {
    script = { text, sha: createHash('sha1').update(text).digest('hex'), hasForeign }
    scripts.set(text, script)
  }
  return script
}
