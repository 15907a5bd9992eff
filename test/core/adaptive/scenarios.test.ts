import { describe, expect, it } from 'vitest'
import { aimd } from '../../../src/core/adaptive/aimd.js'
import type { AdaptiveAlgorithm } from '../../../src/core/adaptive/algorithm.js'
import { gradient } from '../../../src/core/adaptive/gradient.js'
import { type Case, cases } from './scenarios.js'
import { adaptiveLimit, fixedLimit, goodput, type Run, simulate } from './simulation.js'

const rule = { min: 1, max: 1000, initial: 20, tolerance: 1.5, measureEveryMs: 30_000, seed: 1 }

/** Limits as near to each other as a tenth of the goodput needs. */
const candidates = [1, 2, 3, 4, 5, 7, 10, 12, 15, 20, 25, 30, 40, 60, 100, 130]

interface Span {
  readonly from: number
  readonly to: number
}

function spansOf({ scenario, settleMs, from = scenario.phases.map(({ at }) => at) }: Case): Span[] {
  return from.map((at, i) => ({ from: at + settleMs, to: from[i + 1] ?? scenario.untilMs }))
}

function run({ scenario, serviceMs }: Case, algorithm: AdaptiveAlgorithm): Run {
  const isAimd = algorithm === aimd
  const timeoutMs = isAimd ? (serviceMs * scenario.patience) / 2 : Number.POSITIVE_INFINITY
  return simulate(scenario, adaptiveLimit(algorithm, { ...rule, timeoutMs }))
}

describe.each(Object.entries(cases))('%s', (_, given) => {
  const spans = spansOf(given)
  const fixed = candidates.map((limit) => simulate(given.scenario, fixedLimit(limit)))
  const best = spans.map(({ from, to }) => Math.max(...fixed.map((each) => goodput(each, from, to))))
  const algorithms = given.isForAimd === false ? [gradient] : [gradient, aimd]

  it.each(algorithms)('$name settles within a tenth of the best fixed limit', (algorithm) => {
    const found = run(given, algorithm)
    spans.forEach(({ from, to }, i) => {
      expect(goodput(found, from, to) / best[i]!, `from ${from} to ${to} ms`).toBeGreaterThan(0.9)
    })
  })
})

describe('limits that begin far off', () => {
  const { scenario } = cases['steady load']!
  const best = Math.max(
    ...candidates.map((limit) => goodput(simulate(scenario, fixedLimit(limit)), 10_000, 60_000))
  )

  it.each([1, 5, 100, 300])('from %i it is within a tenth after 10 s', (initial) => {
    const limiter = adaptiveLimit(gradient, { ...rule, initial, timeoutMs: Number.POSITIVE_INFINITY })
    expect(goodput(simulate(scenario, limiter), 10_000, 60_000) / best).toBeGreaterThan(0.9)
  })

  it('the jitter of another host is no worse', () => {
    for (const seed of [2, 3, 4, 5]) {
      const limiter = adaptiveLimit(gradient, { ...rule, seed, timeoutMs: Number.POSITIVE_INFINITY })
      expect(goodput(simulate(scenario, limiter), 10_000, 60_000) / best).toBeGreaterThan(0.9)
    }
  })
})

describe('who measures', () => {
  it('turns away hardly anybody at light load', () => {
    const { scenario } = cases['light load']!
    const all = goodput(simulate(scenario, fixedLimit(1000)), 5000, 60_000)
    const limiter = adaptiveLimit(gradient, { ...rule, timeoutMs: Number.POSITIVE_INFINITY })
    expect(goodput(simulate(scenario, limiter), 5000, 60_000) / all).toBeGreaterThan(0.98)
  })

  it('never stays at the least limit once an outage is over', () => {
    for (const name of [
      'a backend that fails at once for a while',
      'a backend that fails slowly for a while'
    ]) {
      const given = cases[name]!
      for (const algorithm of [gradient, aimd])
        expect(Math.max(...run(given, algorithm).limits.slice(-5)), algorithm.name).toBeGreaterThan(7)
    }
  })
})
