import { describe, expect, it } from 'vitest'
import { Bucket } from '../../src/core/bucket.js'
import { definePolicy } from '../../src/core/policy.js'
import { peek } from '../../src/core/verdict.js'
import { KeyTable } from '../../src/memory/key-table.js'

const start = 1_700_000_000_000
const take = { ...peek, kind: 'take' } as const

/** A table of keys under a token bucket that pays a unit back within a millisecond. */
function tableAt(window: string) {
  const bucket = new Bucket([definePolicy({ strategy: 'token-bucket', limit: 10_000_000, window })])
  const keys = new KeyTable(bucket, undefined)
  /** Charges a key at an instant; true if it was in the table already. */
  const visit = (key: string, at: number): boolean => {
    bucket.setTime(at)
    const known = keys.find(key)
    bucket.open(keys.cells, known < 0 ? keys.admit() : known)
    if (known < 0) bucket.open(keys.cells, keys.find(key))
    bucket.decide(take, 1, 0, null)
    return known >= 0
  }
  return { bucket, keys, visit }
}

describe('keys that owe nothing by their next visit', () => {
  it('stay in the table while they are in use', () => {
    const { visit } = tableAt('1h')
    const visits = Array.from({ length: 30_000 }, (_, i) => visit(`key ${i % 10_000}`, start + i / 4))
    expect(visits.filter((isKnown) => isKnown)).toHaveLength(20_000)
  })

  it('make room for others once they have not been seen for a while', () => {
    const { keys, visit } = tableAt('1h')
    for (let i = 0; i < 10_000; i++) visit(`key ${i}`, start)
    for (let i = 0; i < 10_000; i++) visit(`other ${i}`, start + 60_000 + i)
    expect(keys.table.used).toBeLessThanOrEqual(15_000)
    expect(keys.find('key 0')).toBe(-1)
  })

  it('are in use for no longer than their window', () => {
    const { keys, visit } = tableAt('100ms')
    for (let i = 0; i < 10_000; i++) visit(`key ${i}`, start)
    for (let i = 0; i < 10_000; i++) visit(`other ${i}`, start + 500)
    expect(keys.table.used).toBeLessThanOrEqual(15_000)
  })
})
