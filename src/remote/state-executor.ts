import { HeadgateError } from '../core/errors.js'
import type { Policy } from '../core/policy.js'
import type { Verdict } from '../core/verdict.js'
import type { Call, Change, LimiterTerms, Locking, Swapped, Swapping } from './backend.js'
import { checkedSwap, instantOf, promised, stateText } from './contract.js'
import type { Executor, Location } from './executor.js'
import { Breach } from './failure.js'
import { Asked, KeyQueue, type Round } from './key-queue.js'
import { KeyState, type Outcome } from './key-state.js'
import type { Node } from './nodes.js'
import type { Operation, Renewal } from './operation.js'
import type { Holding } from './permits/holdings.js'
import type { Deadline } from './time/deadline.js'

/** How often a key that others change meanwhile is read again. */
const mostAttempts = 20

/** What no key holds, so that it is only read. */
const nothing = '-'

/** What core has made of a key's state. */
interface Decision {
  readonly outcomes: ReadonlyMap<Asked, Outcome>
  readonly change: Change | null
}

/**
 * Carries out operations on what a backend keeps for core to decide on. Operations on one key that wait are decided
 * together, and follow one another, so that only other processes get in the way.
 */
export class StateExecutor implements Executor {
  readonly #deadline: Deadline
  readonly #backend: Locking | Swapping
  readonly #state: KeyState
  /** The keys that something is asked about. */
  readonly #queues = new Map<string, KeyQueue>()

  constructor(deadline: Deadline, backend: Locking | Swapping, terms: LimiterTerms) {
    this.#deadline = deadline
    this.#backend = backend
    this.#state = new KeyState(terms)
  }

  due(): number {
    return this.#deadline.due()
  }

  execute(
    key: string,
    { node }: Location,
    operation: Operation,
    policies: readonly Policy[],
    due = this.due()
  ): Promise<Verdict | undefined> {
    return this.#ask(key, node, operation, policies, due)
  }

  /**
   * Renews permits on one key.
   * @returns for each that is held, in order, true if it was gone
   */
  async renew(
    { key, held, released }: Holding,
    { node }: Location,
    leaseMs: number,
    policies: readonly Policy[]
  ): Promise<readonly boolean[]> {
    const areGone: boolean[] = []
    const renewal: Renewal = { kind: 'renew', held, released, leaseMs, areGone }
    await this.#ask(key, node, renewal, policies, this.due())
    return areGone
  }

  #ask(
    key: string,
    node: Node,
    operation: Operation | Renewal,
    policies: readonly Policy[],
    due: number
  ): Promise<Verdict | undefined> {
    const asked = new Asked(node, operation, policies, this.#deadline, due)
    let queue = this.#queues.get(key)
    if (queue === undefined) {
      queue = new KeyQueue(key, this.#deadline)
      this.#queues.set(key, queue)
      queueMicrotask(() => this.#work(key))
    }
    queue.add(asked)
    return asked.answer
  }

  /** Decides what waits for a key until nothing does. */
  async #work(key: string): Promise<void> {
    const queue = this.#queues.get(key)!
    for (let round = queue.next(); round !== null; round = queue.next()) await this.#answer(round)
    this.#queues.delete(key)
  }

  async #answer(round: Round): Promise<void> {
    const backend = this.#backend
    try {
      const outcomes = await ('update' in backend ? this.#update(backend, round) : this.#swap(backend, round))
      for (const [asked, outcome] of outcomes) asked.settle(outcome)
    } catch (error) {
      for (const asked of round.all) asked.reject(error)
    }
  }

  #update(backend: Locking, round: Round): Promise<Decision['outcomes']> {
    return this.#call(round, async (call) => {
      let decision: Decision | undefined
      let breach: { readonly error: unknown } | undefined
      const decide = (text: string, now: number) => {
        if (call.isOver) throw new Error('the call was given up')
        decision = undefined
        breach = undefined
        try {
          const instant = instantOf('`now` of `decide`', now)
          call.tellTime(instant)
          decision = this.#decide(round, stateText(text), instant)
        } catch (error) {
          breach = { error }
          throw error
        }
        return decision.change
      }
      try {
        await promised('update', backend.update(round.key, decide, call))
      } catch (error) {
        throw breach === undefined ? error : breach.error
      }
      if (breach !== undefined) throw breach.error
      if (decision === undefined)
        throw new Breach('`update` did not call `decide`: it must, before it is done')
      return decision.outcomes
    })
  }

  async #swap(backend: Swapping, round: Round): Promise<Decision['outcomes']> {
    const swap = (expected: string, change: Change | null): Promise<Swapped> =>
      this.#call(round, async (call) => {
        const swapped = await promised('swap', backend.swap(round.key, expected, change, call))
        return checkedSwap(swapped, change !== null)
      })
    let { text, now } = await swap(nothing, null)
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      const { outcomes, change } = this.#decide(round, text, now)
      if (change === null) return outcomes
      const swapped = await swap(text, change)
      if (swapped.isDone) return outcomes
      text = swapped.text
      now = swapped.now
    }
    throw new HeadgateError(
      'HEADGATE_STORE_FAILED',
      `Other processes changed a key ${mostAttempts} times while it was decided${backend.hint ?? ''}.`
    )
  }

  #call<T>(round: Round, start: (call: Call) => Promise<T>): Promise<T> {
    return this.#deadline.call(round.node, start, round)
  }

  /** What a round makes of a key that holds this text. An error of the user's strategy is its operation's alone. */
  #decide({ all }: Round, text: string, now: number): Decision {
    const outcomes = new Map<Asked, Outcome>()
    const waiting = all.filter(({ isOver }) => !isOver)
    try {
      return { outcomes, change: this.#perform(waiting, outcomes, text, now) }
    } catch (error) {
      // It cannot tell for how long the key owes.
      for (const asked of waiting) outcomes.set(asked, { error })
      return { outcomes, change: null }
    }
  }

  #perform(
    waiting: readonly Asked[],
    outcomes: Map<Asked, Outcome>,
    text: string,
    now: number
  ): Change | null {
    const state = this.#state
    /** What was done under the policies before. */
    let done: Change | null = null
    let opened: readonly Policy[] | null = null
    for (const asked of waiting) {
      const { node, operation, policies } = asked
      if (operation.kind === 'reset') {
        done = state.forgotten(opened === null ? (done?.text ?? text) : null, now)
        opened = null
        outcomes.set(asked, { verdict: undefined })
        continue
      }
      try {
        if (policies !== opened) {
          if (opened !== null) done = after(done, state.change)
          opened = null
          state.read(done?.text ?? text, now, policies)
          opened = policies
        }
      } catch (error) {
        if (!(error instanceof Breach)) throw error
        outcomes.set(asked, { error: this.#deadline.count(node, error) })
        continue
      }
      outcomes.set(asked, state.perform(operation))
    }
    return opened === null ? done : after(done, state.change)
  }
}

/** Two changes, one after the other, as one. */
function after(first: Change | null, second: Change | null): Change | null {
  if (first === null || second === null || second.mayShorten) return second ?? first
  return {
    text: second.text,
    lifeMs: Math.max(first.lifeMs, second.lifeMs),
    mayShorten: first.mayShorten
  }
}
