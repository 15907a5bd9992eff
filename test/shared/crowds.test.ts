import { describe, expect, it } from 'vitest'
import { sharedStore } from '../../src/shared/index.js'
import { boundSuite, crowdStepSuite, crowdSuite } from '../store-suite/overflow-suite.js'
import { limiterOf } from '../support/traces.js'
import { alternating } from './support/alternating.js'

const T = 1_700_000_400_000

const storeOf = (maxKeys: number) => sharedStore({ maxKeys, maxBytes: 2 ** 25 })

crowdSuite('shared', storeOf, 60)
boundSuite('shared', storeOf)
crowdStepSuite('shared', storeOf, 30)
crowdSuite('shared by two in turn', (maxKeys) => alternating(storeOf(maxKeys)), 60)

describe('a full shared store', () => {
  it('denies others falsely no more often than their buckets are shared', () => {
    const maxKeys = 1024
    const limiter = limiterOf({ limit: 1, window: '1h' }, { store: sharedStore({ maxKeys }) }).at(T)
    for (let key = 0; key < maxKeys; key++) limiter.consume(`resident ${key}`)
    const crowd = 256
    let denied = 0
    for (let key = 0; key < crowd; key++) if (!limiter.consume(`crowd ${key}`).allowed) denied++
    // Each meets one of those before it with a chance of at most crowd / buckets, a half of it on the average: 32.
    expect(denied).toBeLessThan(64)
    expect(denied).toBeGreaterThan(8)
  })
})
