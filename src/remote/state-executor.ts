import { HeadgateError } from '../core/errors.js'
import type { Policy } from '../core/policy.js'
import type { Verdict } from '../core/verdict.js'
import type { Change, LimiterTerms, Locking, Swapped, Swapping } from './backend.js'
import type { Deadline } from './deadline.js'
import type { Executor, Location } from './executor.js'
import { KeyState } from './key-state.js'
import type { Node } from './nodes.js'
import type { Operation } from './operation.js'

/** How often a key that others change meanwhile is read again. */
const mostAttempts = 20

/** What no key holds, so that it is only read. */
const nothing = '-'

/** One operation on its way. */
interface Asked {
  readonly key: string
  readonly node: Node
  readonly dueAt: number
  readonly operation: Operation
  readonly policies: readonly Policy[]
}

/** What core has made of a key's state. */
interface Decision {
  readonly verdict: Verdict | undefined
  readonly change: Change | null
}

/**
 * Carries out operations on what a backend keeps for core to decide on. Operations on one key follow one another, so
 * that only other processes get in the way.
 */
export class StateExecutor implements Executor {
  readonly #deadline: Deadline
  readonly #backend: Locking | Swapping
  readonly #state: KeyState
  /** The last operation of each key that is not done yet. */
  readonly #tails = new Map<string, Promise<unknown>>()

  constructor(deadline: Deadline, backend: Locking | Swapping, terms: LimiterTerms) {
    this.#deadline = deadline
    this.#backend = backend
    this.#state = new KeyState(terms)
  }

  execute(
    key: string,
    { node }: Location,
    operation: Operation,
    policies: readonly Policy[]
  ): Promise<Verdict | undefined> {
    const asked = { key, node, dueAt: this.#deadline.dueAt(), operation, policies }
    const backend = this.#backend
    const run = () => ('update' in backend ? this.#update(backend, asked) : this.#swap(backend, asked))
    const before = this.#tails.get(key) ?? Promise.resolve()
    const done = before.then(run, run)
    this.#tails.set(key, done)
    const clear = () => {
      if (this.#tails.get(key) === done) this.#tails.delete(key)
    }
    done.then(clear, clear)
    return done
  }

  async #update(backend: Locking, asked: Asked): Promise<Verdict | undefined> {
    const { key, node, dueAt } = asked
    let decision: Decision | undefined
    /** An error of the user's strategy, which is no failure of the store. */
    let thrown: { readonly error: unknown } | undefined
    await this.#deadline.call(
      node,
      async (call) => {
        const decide = (text: string, now: number) => {
          if (call.isOver) throw new Error('the call was given up')
          call.tellTime(now)
          try {
            decision = this.#decide(asked, text, now)
          } catch (error) {
            thrown = { error }
            throw error
          }
          return decision.change
        }
        await backend.update(key, decide, call).catch((error: unknown) => {
          if (thrown === undefined) throw error
        })
      },
      dueAt
    )
    if (thrown !== undefined) throw thrown.error
    return decision?.verdict
  }

  async #swap(backend: Swapping, asked: Asked): Promise<Verdict | undefined> {
    const { key, node, dueAt } = asked
    const swap = (expected: string, change: Change | null): Promise<Swapped> =>
      this.#deadline.call(node, (call) => backend.swap(key, expected, change, call), dueAt)
    let { text, now } = await swap(nothing, null)
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      const { verdict, change } = this.#decide(asked, text, now)
      if (change === null) return verdict
      const swapped = await swap(text, change)
      if (swapped.isDone) return verdict
      text = swapped.text
      now = swapped.now
    }
    throw new HeadgateError(
      'HEADGATE_STORE_FAILED',
      `Other processes changed a key ${mostAttempts} times while it was decided${backend.hint ?? ''}.`
    )
  }

  #decide({ operation, policies }: Asked, text: string, now: number): Decision {
    const state = this.#state
    state.read(text, now, policies)
    const verdict = state.perform(operation)
    return { verdict, change: state.change }
  }
}
