const { createHash } = process.getBuiltinModule('node:crypto')

/** A script, and the SHA-1 that servers know it by. */
export interface Script {
  readonly text: string
  readonly sha: string
}

export function scriptOf(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}
