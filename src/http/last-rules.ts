import type { Rules } from './rules.js'

/** Keys of which it is remembered by what rules they were decided last. */
const mostRemembered = 10_000

/** By what rules keys were decided last, where these are found for each request. */
export class LastRules {
  readonly #last = new Map<string, Rules>()

  note(key: string, rules: Rules): void {
    const last = this.#last
    const known = last.get(key)
    if (known?.limiter === rules.limiter && known.policies === rules.policies) return
    last.delete(key)
    if (last.size >= mostRemembered) last.delete(last.keys().next().value!)
    last.set(key, rules)
  }

  of(key: string): Rules | undefined {
    return this.#last.get(key)
  }

  clear(): void {
    this.#last.clear()
  }
}
