import { HeadgateError } from './errors.js'

/** What users of other limiters type first, and what it is called here. */
const borrowed: Readonly<Record<string, string>> = {
  max: 'limit',
  points: 'limit',
  total: 'limit',
  requests: 'limit',
  windowMs: 'window',
  windowSec: 'window',
  timeWindow: 'window',
  duration: 'window',
  ttl: 'window',
  interval: 'window',
  keyGenerator: 'key',
  keyPrefix: 'name',
  getTracker: 'key',
  generateKey: 'scope',
  throttlers: 'limits',
  errorMessage: 'message',
  storage: 'store',
  setHeaders: 'headers',
  ignoreUserAgents: 'skip',
  ipv6SubnetPrefix: 'ipv6Subnet',
  identifier: 'name',
  algorithm: 'strategy',
  handler: 'onLimited',
  onExceeded: 'onLimited',
  onDenied: 'onLimited',
  onLimitReached: 'onLimited',
  errorResponseBuilder: 'onLimited',
  allowList: 'allow',
  whitelist: 'allow',
  blockList: 'deny',
  blacklist: 'deny',
  rate: 'limit',
  tiers: 'limits',
  blockDuration: 'block',
  standardHeaders: 'headers',
  legacyHeaders: 'headers',
  skipSuccessfulRequests: 'countOnly',
  skipFailedRequests: 'countOnly',
  skipIf: 'skip',
  status: 'statusCode',
  dryRun: 'shadow',
  reportOnly: 'shadow'
}

/** A value as an error message shows it: short, and never the value's own throwing code. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' || value == null)
    return String(value)
  if (Array.isArray(value)) return `an array of ${value.length}`
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** An error about one option: its name, the value given, and what to write instead. */
export function badOption(option: string, value: unknown, fix: string): HeadgateError {
  return new HeadgateError('HEADGATE_BAD_OPTION', `\`${option}\` is ${shown(value)}: ${fix}`)
}

/** Options without a default: what reads them says what they need. */
const required: readonly string[] = ['limit', 'window', 'limits']

/**
 * Refuses option names that are not known, so that a misspelt one never leaves a route unprotected, and null.
 * @throws HeadgateError `HEADGATE_UNKNOWN_OPTION`, with the near name where there is one
 */
export function checkNames(options: object, known: readonly string[], where: string): void {
  const unknown: string[] = []
  for (const [name, value] of Object.entries(options)) {
    if (!known.includes(name)) {
      if (value !== undefined) unknown.push(name)
    } else if (value === null && !required.includes(name))
      throw badOption(name, value, 'give it a value, or leave it out for the default')
  }
  if (unknown.length > 0)
    throw new HeadgateError(
      'HEADGATE_UNKNOWN_OPTION',
      unknown.map((name) => `\`${name}\` is no option of ${where}: ${hintFor(name, known)}`).join('\n')
    )
}

function hintFor(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  if (near === undefined) return `known are ${known.map((k) => `\`${k}\``).join(', ')}.`
  return `did you mean \`${near}\`?${Object.hasOwn(notes, near) ? ` ${notes[near]}` : ''}`
}

/** What users of other limiters must know before they rename an option. */
const notes: Readonly<Record<string, string>> = {
  window: "A number is ms; a text has a unit, '60s'.",
  block: "A number is ms; a text has a unit, '10m'.",
  onLimited: 'It is called with (request, response, rateLimit), and what it returns is sent.',
  countOnly: "'failures' leaves successful requests out, 'successes' failed ones.",
  headers: "A style's name, such as 'draft-06'; 'none' for Retry-After only."
}

/** The known name that was most likely meant, or undefined. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const alias = Object.hasOwn(borrowed, name) ? borrowed[name] : undefined
  if (alias !== undefined && known.includes(alias)) return alias
  let best: string | undefined
  let least = Math.max(2, Math.floor(name.length / 3)) + 1
  for (const candidate of known) {
    const distance = editDistance(name.slice(0, longestName).toLowerCase(), candidate.toLowerCase())
    if (distance < least) {
      least = distance
      best = candidate
    }
  }
  return best
}

/** Names longer than this are no misspelt option; what follows is not compared. */
const longestName = 64

/** Levenshtein distance, for names of a few letters. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(swap, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
