import type { Policy } from '../core/policy.js'
import type { Verdict } from '../core/verdict.js'
import type { Outcome } from './key-state.js'
import type { Node } from './nodes.js'
import type { Operation, Renewal } from './operation.js'
import type { Deadline } from './time/deadline.js'
import type { Waiting } from './time/loop-time.js'

/** One operation on a key, from when it is asked for until it is answered. */
export class Asked implements Waiting {
  readonly node: Node
  readonly operation: Operation | Renewal
  readonly policies: readonly Policy[]
  /** When it is given up, in loop time. */
  readonly due: number
  readonly answer: Promise<Verdict | undefined>
  isOver = false
  #resolve!: (verdict: Verdict | undefined) => void
  #reject!: (error: unknown) => void
  readonly #deadline: Deadline

  constructor(
    node: Node,
    operation: Operation | Renewal,
    policies: readonly Policy[],
    deadline: Deadline,
    due: number
  ) {
    this.node = node
    this.operation = operation
    this.policies = policies
    this.#deadline = deadline
    this.due = due
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  giveUp(): void {
    this.reject(this.#deadline.lateness())
  }

  /** Has it given up when its time is over, if nothing else does. */
  expire(): void {
    this.#deadline.expect(this)
  }

  /** Leaves it to the call that it is part of to give it up. */
  leaveToCall(): void {
    this.#deadline.forget(this)
  }

  settle(outcome: Outcome): void {
    this.#end()
    if ('error' in outcome) this.#reject(outcome.error)
    else this.#resolve(outcome.verdict)
  }

  reject(error: unknown): void {
    this.#end()
    this.#reject(error)
  }

  #end(): void {
    this.isOver = true
    this.leaveToCall()
  }
}

/** Operations on one key that are decided in one call, in the order in which they were asked for. */
export interface Round {
  readonly key: string
  readonly all: readonly Asked[]
  readonly node: Node
  /** When the last of them is given up, in loop time. */
  readonly due: number
  /** Until when the node may answer before that counts as a failure of the node, in loop time. */
  readonly judgedAt: number
}

/**
 * The operations on one key that wait. Those that are asked for while others are decided are decided together next, so
 * that however many they are, none waits for more than two calls.
 */
export class KeyQueue {
  readonly #key: string
  readonly #deadline: Deadline
  #waiting: Asked[] = []
  #isBusy = false

  constructor(key: string, deadline: Deadline) {
    this.#key = key
    this.#deadline = deadline
  }

  add(asked: Asked): void {
    this.#waiting.push(asked)
    if (this.#isBusy) asked.expire()
  }

  /** What waits now; null once nothing does. */
  next(): Round | null {
    const all = this.#waiting.filter(({ isOver }) => !isOver)
    this.#waiting = []
    if (all.length === 0) return null
    const { node, due } = all[all.length - 1]!
    // What has waited behind its own key says nothing of the node: it has the whole deadline from now.
    const judgedAt = this.#isBusy ? this.#deadline.due() : due
    this.#isBusy = true
    for (const asked of all) if (asked.due === due) asked.leaveToCall()
    return { key: this.#key, all, node, due, judgedAt }
  }
}
