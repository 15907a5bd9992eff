import { HeadgateError } from '../core/errors.js'
import { shown } from '../core/options.js'
import { heard } from '../core/promise.js'
import { placingOf } from '../decorators/limits-of.js'
import { type Class, methodsOf } from '../decorators/marks.js'
import type { AsyncKeyedLimiter, KeyedLimiter } from '../http/keyed-limiter.js'
import { gather } from '../http/promise.js'
import type { ContextGate } from './context-gate.js'
import type { HandlerLimits } from './handler-limits.js'
import type { PolicyName } from './options.js'

/** A handler: by class and name, or as the function itself. A class stands for the limit that its methods share. */
export type LimitedHandler =
  | readonly [Class, string | symbol]
  | ((...args: never[]) => unknown)
  | (abstract new (
      ...args: never[]
    ) => unknown)

/** A limit of the module: a policy, the module's own, or that of a handler or a class. */
export type LimitTarget = PolicyName | 'default' | LimitedHandler

type AnyLimiter = KeyedLimiter | AsyncKeyedLimiter

/** Finds the limiters of what users name. */
export class LimitTargets {
  readonly #limits: HandlerLimits

  constructor(limits: HandlerLimits) {
    this.#limits = limits
  }

  /** The limiter of something that has one. */
  one(target: LimitTarget): KeyedLimiter {
    const [limiter, another] = this.#limitersOf(target)
    if (another === undefined) return limiter as KeyedLimiter
    throw misuse(
      "The module's own limit has `scope: 'handler'`, so each handler has counters of its own: name one, " +
        "such as [Reports, 'list']."
    )
  }

  /** Does something in all limiters that a target has. */
  each<T, U>(
    target: LimitTarget,
    act: (limiter: KeyedLimiter) => T | Promise<T>,
    combine: (done: readonly T[]) => U
  ): U | Promise<U> {
    const done = gather<T>(this.#limitersOf(target).map((limiter) => () => act(limiter as KeyedLimiter)))
    return done instanceof Promise ? heard(done.then(combine)) : combine(done)
  }

  /** All limiters that there are. */
  get all(): readonly AnyLimiter[] {
    return this.#limits.gates.map(({ limiter }) => limiter)
  }

  #limitersOf(target: LimitTarget): readonly AnyLimiter[] {
    return this.#gatesOf(target).map(({ limiter }) => limiter)
  }

  #gatesOf(target: LimitTarget): readonly ContextGate[] {
    const { own, policies } = this.#limits
    if (typeof target === 'string')
      return target === 'default' && own !== null ? this.#limits.ownGates : [policies.of(target).gate]
    if (Array.isArray(target)) return [this.#gateOf(target[0], target[1])]
    if (typeof target !== 'function') throw misuse(`${shown(target)} names no limit. ${advice}`)
    return this.#limits.knows(target as Class)
      ? [this.#gateOfClass(target as Class)]
      : [this.#gateOfFunction(target as () => unknown)]
  }

  #gateOf(owner: Class, method: string | symbol): ContextGate {
    const handler: unknown = owner?.prototype?.[method]
    if (typeof handler !== 'function') throw misuse(`${nameOf(owner)} has no method ${shown(method)}.`)
    const limit = this.#limits.of(owner, handler as never)
    if (limit === null) throw misuse(`${nameOf(owner)}.${String(method)} is not limited.`)
    return limit.gate
  }

  #gateOfClass(owner: Class): ContextGate {
    const shared = [...methodsOf(owner)].filter((method) => {
      const placing = placingOf(owner, method)
      return placing?.by === 'class' && placing.limit !== false
    })
    const [gate, another] = new Set(shared.map((method) => this.#gateOf(owner, method)))
    if (gate !== undefined && another === undefined) return gate
    throw misuse(
      gate === undefined
        ? `${owner.name} has no limit that its methods share. ${advice}`
        : `The limit of ${owner.name} has \`scope: 'handler'\`, so each method has counters of its own. ${advice}`
    )
  }

  #gateOfFunction(handler: (...args: never[]) => unknown): ContextGate {
    const found = this.#limits.methodsThatAre(handler)
    const [first, another] = found
    if (first === undefined || another !== undefined)
      throw misuse(
        first === undefined
          ? `The function '${handler.name}' is no method of a class that Nest knows. ${advice}`
          : `${found.map(([owner]) => owner.name).join(' and ')} have the method '${handler.name}'. ${advice}`
      )
    return this.#gateOf(...first)
  }
}

const advice = "Give a policy's name, 'default', or a handler as [Reports, 'list']."

function nameOf(owner: unknown): string {
  return typeof owner === 'function' ? owner.name : shown(owner)
}

function misuse(message: string): HeadgateError {
  return new HeadgateError('HEADGATE_MISUSE', message)
}
