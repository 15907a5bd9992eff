import type { Limiter } from '../../../src/index.js'

/** Terms of `ban`, in ms. */
export interface Terms {
  readonly after: number
  readonly within: number
  readonly for: number
  readonly growth: number
  readonly max?: number
  readonly forget?: number
}

interface Answer {
  readonly allowed: boolean
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetMs: number
}

/** What is known of one key: the denials that count, all bans that there were, and until when the last one is. */
interface History {
  denials: number[]
  bans: number[]
  until: number
}

/** What `ban` means, told by lists of all that happened, on a limiter that bans nobody. */
export function banModel(terms: Terms, plain: Limiter) {
  const histories = new Map<string, History>()
  const of = (key: string) => {
    const history = histories.get(key) ?? { denials: [], bans: [], until: 0 }
    histories.set(key, history)
    return history
  }
  const left = (key: string, now: number) => Math.max(0, of(key).until - now)

  /** The answer of the plain limiter, unless the key is banned. */
  const seen = (key: string, now: number, answer: Answer): Answer => {
    const leftMs = left(key, now)
    const { allowed, remaining, retryAfterMs, resetMs } = answer
    if (leftMs === 0) return { allowed, remaining, retryAfterMs, resetMs }
    const longer = (ms: number) => Math.max(ms, leftMs)
    return { allowed: false, remaining: 0, retryAfterMs: longer(retryAfterMs), resetMs: longer(resetMs) }
  }

  const strike = (key: string, now: number) => {
    const history = of(key)
    if (history.denials.length > 0 && now - history.denials[0]! >= terms.within) history.denials = []
    history.denials.push(now)
    if (history.denials.length < terms.after) return
    history.denials = []
    if (now - history.until >= (terms.forget ?? Number.POSITIVE_INFINITY)) history.bans = []
    const last = history.bans.at(-1)
    const banMs =
      last === undefined
        ? terms.for
        : Math.min(terms.max ?? Number.POSITIVE_INFINITY, Math.ceil(last * terms.growth))
    history.bans.push(banMs)
    history.until = now + banMs
  }

  return {
    left,
    peek: (key: string, now: number) => seen(key, now, plain.peek(key)),
    consume(key: string, now: number): Answer {
      if (left(key, now) > 0) return seen(key, now, plain.peek(key))
      const answer = plain.consume(key)
      if (!answer.allowed) strike(key, now)
      return seen(key, now, answer)
    },
    reset(key: string) {
      histories.delete(key)
      plain.reset(key)
    }
  }
}
