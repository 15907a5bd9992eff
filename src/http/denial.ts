/** Why a request was denied: a quota used up, the server short of capacity, a ban (draft-11 §5). */
export type DenialKind = 'quota' | 'capacity' | 'abuse'

/** What the body of a denial says. */
export interface Denial {
  readonly kind: DenialKind
  /** The status code that is really sent; RFC 9457 §3.1.2 wants the same number in the body. */
  readonly status: number
  /** Names of the policies whose quota was exceeded. */
  readonly violatedPolicies: readonly string[]
  /** As in the Retry-After field; null when there is none. */
  readonly retryAfterSeconds: number | null
  /** True where there is none because nobody knows when, rather than because waiting does not help. */
  readonly isUnsure?: boolean
  /** Replaces the built-in sentence; the `detail` of problem details, which have none without it. */
  readonly message?: string
}

/** A body and the Content-Type it goes with. */
export interface DenialBody {
  readonly contentType: string
  readonly body: string
}

type Format = 'text' | 'json' | 'problem'

/** In the order preferred where the client prefers none. */
const FORMATS: readonly Format[] = ['text', 'json', 'problem']

const MEDIA_TYPES: Readonly<Record<Format, string>> = {
  text: 'text/plain',
  json: 'application/json',
  problem: 'application/problem+json'
}

const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  text: 'text/plain; charset=utf-8',
  json: 'application/json; charset=utf-8',
  problem: 'application/problem+json'
}

/** Types and registered titles of draft-11 §5 and §10.2. */
const PROBLEMS: Readonly<Record<DenialKind, { type: string; title: string; sentence: string }>> = {
  quota: {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Quota Exceeded',
    sentence: 'Too many requests'
  },
  capacity: {
    type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
    title: 'Temporary Reduced Capacity',
    sentence: 'The server is short of capacity'
  },
  abuse: {
    type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
    title: 'Abnormal Usage Detected',
    sentence: 'Abnormal usage detected'
  }
}

const REASONS: Readonly<Record<number, string>> = {
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  429: 'Too Many Requests',
  503: 'Service Unavailable'
}

/** Characters of Accept that are read: enough for any client, and a bound on what a hostile one costs. */
const ACCEPT_READ = 1024

/**
 * The body of a denied request in the form that Accept prefers among text, JSON and RFC 9457 problem details
 * (draft-11 §5). `usual` without preference; problem details only where they are asked for by name, and then
 * before anything of equal weight. Where nothing is acceptable, `usual` (RFC 9110 §12.5.1 allows it).
 */
export function denialBody(
  accept: string | undefined,
  denial: Denial,
  usual: 'text' | 'json' = 'text'
): DenialBody {
  const format = preferredFormat(accept, usual)
  return { contentType: CONTENT_TYPES[format], body: bodyOf(format, denial) }
}

function bodyOf(format: Format, denial: Denial): string {
  const { kind, status, message } = denial
  if (format === 'problem') {
    const { type, title } = PROBLEMS[kind]
    return JSON.stringify({
      type,
      title,
      status,
      ...(message === undefined ? null : { detail: message }),
      'violated-policies': denial.violatedPolicies
    })
  }
  return format === 'text' ? textOf(denial) : JSON.stringify(denialJson(denial))
}

/** The JSON body, as an object. */
export function denialJson(denial: Denial): {
  readonly error: string
  readonly message: string
  readonly statusCode: number
  readonly retryAfter?: number
} {
  const { status } = denial
  const seconds = finiteSeconds(denial)
  return {
    error: REASONS[status] ?? 'Request Denied',
    message: textOf(denial),
    statusCode: status,
    ...(seconds === null ? null : { retryAfter: seconds })
  }
}

function textOf(denial: Denial): string {
  const seconds = finiteSeconds(denial)
  const unknown = denial.isUnsure === true ? ', retry later.' : '; waiting does not help.'
  const wait = seconds === null ? unknown : `, retry in ${seconds} s.`
  return denial.message ?? PROBLEMS[denial.kind].sentence + wait
}

function finiteSeconds({ retryAfterSeconds }: Denial): number | null {
  return Number.isFinite(retryAfterSeconds) ? retryAfterSeconds : null
}

/** How Accept weighs one format, by its most specific range (RFC 9110 §12.5.1). */
interface Weight {
  /** 0 to 1; UNLISTED when no range speaks of the format. */
  q: number
  /** 0 none, 1 any type, 2 any subtype, 3 by name. */
  specificity: number
  /** Position of the range in Accept. */
  position: number
}

/** Below every weight that a client can give and above a refusal. */
const UNLISTED = 1e-9

const Q_VALUE = /^[01](?:\.\d*)?$/

function preferredFormat(accept: string | undefined, usual: Format): Format {
  if (accept === undefined || accept === '*/*') return usual
  const weights = weigh(accept)
  let best = usual
  for (const format of FORMATS) if (isPreferred(format, best, weights)) best = format
  return best
}

function isPreferred(format: Format, to: Format, weights: Readonly<Record<Format, Weight>>): boolean {
  const a = weights[format]
  const b = weights[to]
  if (a.q !== b.q) return a.q > b.q
  if (a.specificity !== b.specificity) return a.specificity > b.specificity
  if (format === 'problem' && a.specificity === 3) return true
  return a.position < b.position
}

function weigh(accept: string): Record<Format, Weight> {
  const weights = { text: unlisted(), json: unlisted(), problem: unlisted() }
  const ranges = readable(accept).split(',')
  for (let position = 0; position < ranges.length; position++) {
    const [range = '', ...parameters] = ranges[position]!.split(';')
    const type = range.trim().toLowerCase()
    const q = qualityOf(parameters)
    if (q === null) continue
    for (const format of FORMATS) {
      const specificity = specificityOf(type, MEDIA_TYPES[format])
      if (specificity > weights[format].specificity) weights[format] = { q, specificity, position }
    }
  }
  return weights
}

function unlisted(): Weight {
  return { q: UNLISTED, specificity: 0, position: 0 }
}

/** The part that is read, without a range cut in two. */
function readable(accept: string): string {
  if (accept.length <= ACCEPT_READ) return accept
  const head = accept.slice(0, ACCEPT_READ)
  return head.slice(0, Math.max(0, head.lastIndexOf(',')))
}

function specificityOf(range: string, type: string): number {
  if (range === type) return 3
  if (range === '*/*') return 1
  return range.endsWith('/*') && type.startsWith(range.slice(0, -1)) ? 2 : 0
}

/** 1 without a `q`; null for one that is malformed, which voids its range. */
function qualityOf(parameters: readonly string[]): number | null {
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.split('=', 2)
    if (name.trim().toLowerCase() !== 'q') continue
    const text = value.trim()
    return Q_VALUE.test(text) ? Math.min(1, Number(text)) : null
  }
  return 1
}
