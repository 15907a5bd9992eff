import { describe, expect, it } from 'vitest'
import type { Verdict } from '../../src/core/verdict.js'
import { KnownBlocks } from '../../src/remote/outage/known-blocks.js'
import { LostKeys } from '../../src/remote/outage/lost-keys.js'

/** What a store answers of a key that is blocked for so long. */
const blocked = (ms: number) => ({ isBlocked: true, out: [0, ms, ms, 0] }) as unknown as Verdict

describe('blocks that a process knows of', () => {
  it('are bounded, and those that the store is told of leave it the others', () => {
    const blocks = new KnownBlocks()
    for (let i = 0; i < 100; i++) blocks.add(`mine${i}`, 60_000, true)
    for (let i = 0; i < 20_000; i++) blocks.hear(`told${i}`, blocked(60_000), false)
    expect([...blocks.due()]).toHaveLength(100)
    for (let i = 0; i < 100; i++) expect(blocks.left(`mine${i}`)).toBeGreaterThan(0)
    const known = Array.from({ length: 20_000 }, (_, i) => blocks.left(`told${i}`)).filter((ms) => ms > 0)
    expect(known).toHaveLength(10_000)
    for (let i = 0; i < 20_000; i++) blocks.add(`more${i}`, 60_000, true)
    expect([...blocks.due()]).toHaveLength(10_000)
  })

  it('are the ones that were made last', () => {
    const blocks = new KnownBlocks()
    const first = blocks.add('key', 1000, true)
    const second = blocks.add('key', Number.POSITIVE_INFINITY, true)
    blocks.told('key', first)
    expect([...blocks.due()]).toEqual([['key', second]])
    blocks.told('key', second)
    expect([...blocks.due()]).toEqual([])
    expect(blocks.left('key')).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('keys that are lost', () => {
  it.each([1, 100, 5000, 500_000])('are counted to a hundredth, each once: %i', (count) => {
    const lost = new LostKeys()
    for (let round = 0; round < 2; round++)
      for (let i = 0; i < count; i++) lost.note(`ip:10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`)
    expect(Math.abs(lost.count - count)).toBeLessThanOrEqual(count / 100)
    lost.clear()
    expect(lost.count).toBe(0)
  })
})
