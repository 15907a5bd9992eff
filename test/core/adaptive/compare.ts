import { aimd } from '../../../src/core/adaptive/aimd.js'
import type { AdaptiveAlgorithm } from '../../../src/core/adaptive/algorithm.js'
import type { Case } from './scenarios.js'
import { adaptiveLimit, fixedLimit, goodput, type Run, simulate } from './simulation.js'

/** What all comparisons go by. */
export const rule = {
  min: 1,
  max: 1000,
  initial: 20,
  timeoutMs: Number.POSITIVE_INFINITY,
  tolerance: 1.5,
  measureEveryMs: 30_000,
  seed: 1
}

/** Limits as near to each other as a tenth of the goodput needs. */
const candidates = [1, 2, 3, 4, 5, 7, 10, 12, 15, 20, 25, 30, 40, 60, 100, 130]

/** Runs a scenario; AIMD takes half the clients' patience as time-out. */
export function run({ scenario, serviceMs }: Case, algorithm: AdaptiveAlgorithm, binMs?: number): Run {
  const timeoutMs = algorithm === aimd ? (serviceMs * scenario.patience) / 2 : rule.timeoutMs
  return simulate(scenario, adaptiveLimit(algorithm, { ...rule, timeoutMs }), binMs)
}

/** The spans in which goodput counts: from when a limit should have found itself to the end of the phase. */
function spansOf({
  scenario,
  settleMs,
  from = scenario.phases.map(({ at }) => at)
}: Case): [number, number][] {
  return from.map((at, i) => [at + settleMs, from[i + 1] ?? scenario.untilMs])
}

/** The goodput of the best fixed limit, by span. */
export function bestOf(given: Case): number[] {
  const runs = candidates.map((limit) => simulate(given.scenario, fixedLimit(limit)))
  return spansOf(given).map(([from, to]) => Math.max(...runs.map((each) => goodput(each, from, to))))
}

/** The goodput of an algorithm as parts of the best, by span. */
export function sharesOf(given: Case, algorithm: AdaptiveAlgorithm, best: readonly number[]): number[] {
  const found = run(given, algorithm)
  return spansOf(given).map(([from, to], i) => goodput(found, from, to) / best[i]!)
}
