import { describe, expect, it } from 'vitest'
import { aimd } from '../../../src/core/adaptive/aimd.js'
import type { AdaptiveAlgorithm, AdaptiveRule } from '../../../src/core/adaptive/algorithm.js'
import { gradient } from '../../../src/core/adaptive/gradient.js'
import { bestOf, rule, run, sharesOf } from './compare.js'
import { cases } from './scenarios.js'
import { adaptiveLimit, fixedLimit, goodput, simulate } from './simulation.js'

describe.each(Object.entries(cases))('%s', (_, given) => {
  const best = bestOf(given)
  const algorithms: AdaptiveAlgorithm[] = given.isForAimd === false ? [gradient] : [gradient, aimd]

  it.each(algorithms)('$name settles within a tenth of the best fixed limit', (algorithm) => {
    for (const share of sharesOf(given, algorithm, best)) expect(share).toBeGreaterThan(0.9)
  })
})

describe('a gradient that begins elsewhere', () => {
  const given = cases['steady load']!
  const atBest = goodput(simulate(given.scenario, fixedLimit(20)), 15_000, 60_000)

  function share(changes: Partial<AdaptiveRule>): number {
    const found = simulate(given.scenario, adaptiveLimit(gradient, { ...rule, ...changes }))
    return goodput(found, 15_000, 60_000) / atBest
  }

  it.each([1, 5, 100, 300])('at %i, is within a tenth after 15 s', (initial) => {
    expect(share({ initial })).toBeGreaterThan(0.9)
  })

  it.each([2, 3, 4, 5])('with jitter %i is no worse', (seed) => {
    expect(share({ seed })).toBeGreaterThan(0.9)
  })
})

describe('who measures', () => {
  it('turns away hardly anybody at light load', () => {
    const { scenario } = cases['light load']!
    const all = goodput(simulate(scenario, fixedLimit(1000)), 5000, 60_000)
    expect(goodput(simulate(scenario, adaptiveLimit(gradient, rule)), 5000, 60_000) / all).toBeGreaterThan(
      0.98
    )
  })
})

describe('an outage', () => {
  const names = ['a backend that fails at once for a while', 'a backend that fails slowly for a while']

  it.each(names)('leaves no limit at the least: %s', (name) => {
    for (const algorithm of [gradient, aimd]) {
      const { limits } = run(cases[name]!, algorithm)
      expect(Math.max(...limits.slice(-5)), algorithm.name).toBeGreaterThan(7)
    }
  })
})
