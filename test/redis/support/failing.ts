import { expect } from 'vitest'
import type { Receipt } from '../../../src/core/async-store.js'
import type { Verdict } from '../../../src/core/verdict.js'
import { createLimiter, type Policy } from '../../../src/index.js'
import type { LimiterOptions } from '../../../src/limiter/options.js'
import {
  type RedisStore,
  type RedisStoreOptions,
  redisStore,
  type SendCommand
} from '../../../src/redis/index.js'
import { connected, freshPrefix } from './stores.js'
import { until } from './until.js'

/** How a server fails: it is not reached, or it does what it is asked and its reply is lost; null if it works. */
export type Fault = 'unreached' | 'lossy' | null

/** Gives limiters whose server fails as a test says, each with another that sees what is charged there. */
export function failingServer() {
  const connection = connected('ioredis 6', 'single')
  const direct = (words: readonly string[]) =>
    (connection.client as { call(...words: readonly string[]): Promise<unknown> }).call(...words)
  return (policy: object, settings: RedisStoreOptions = {}) => failing(direct, policy, settings)
}

function failing(direct: SendCommand, policy: object, settings: RedisStoreOptions) {
  const prefix = freshPrefix()
  const faults: { now: Fault; ofPayments: Fault } = { now: null, ofPayments: null }
  const payments: string[][] = []
  const client = async (words: readonly string[]) => {
    // Where this process decides, a payment shows by its mark.
    const isPayment = words.some((word) => word === 'repay' || /;[\w-]{16,} \d+$/.test(word))
    const fault = isPayment ? (faults.ofPayments ?? faults.now) : faults.now
    if (fault === 'unreached') throw new Error('not reached')
    const reply = await direct(words, '')
    if (isPayment) payments.push([...words])
    if (fault === 'lossy') throw new Error('the connection was lost')
    return reply
  }
  const options = {
    breaker: { failures: 1, cooldown: 20 },
    onStateChange: () => {},
    deadline: '5s',
    ...settings
  }
  const rule = { name: 'api', limit: 100, window: '1h', ...policy }
  const limiterOf = (store: RedisStore) =>
    createLimiter({ ...rule, store } as LimiterOptions & { store: RedisStore })
  const store = redisStore(client, { prefix, ...options })
  const limiter = limiterOf(store)
  const other = limiterOf(redisStore(direct, { prefix, deadline: '5s' }))
  const used = async (key = 'key') => {
    const { limit, remaining, source } = await other.peek(key)
    expect(source).toBe('store')
    return limit - remaining
  }
  /** The server works again, and a decision has found it so. */
  const back = async () => {
    faults.now = null
    await until('the store decides', async () => (await limiter.peek('another')).source === 'store')
  }
  const down = async (fault: Fault = 'unreached') => {
    faults.now = fault
    await limiter.peek('another')
  }
  return { store, prefix, limiter, other, faults, payments, used, back, down }
}

/** A limiter as the HTTP gate has it, with limits that are computed for a request. */
export interface Computing {
  withLimits(limits: readonly unknown[]): readonly Policy[]
  take(key: string, cost: number, policies: readonly Policy[]): Promise<Verdict>
  look(key: string, policies: readonly Policy[]): Promise<Verdict>
  giveBack(key: string, cost: number, policies: readonly Policy[], receipt: Receipt): Promise<void>
}

/** Takes units, and gives what is to be given for them back later. */
export async function taken(limiter: object, cost: number, key = 'key') {
  const own = limiter as Computing
  const { policies } = limiter as { policies: readonly Policy[] }
  const { source, at, charged } = await own.take(key, cost, policies)
  expect(charged).toBe(cost)
  return { source, giveBack: (units = cost) => own.giveBack(key, units, policies, { at, source }) }
}
