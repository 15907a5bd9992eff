import { margin, type ProbedStrategy } from './probed-strategy.js'

/**
 * Holds the `growth` of a strategy to its contract, at a bucket that is about to be charged.
 * @throws HeadgateError `HEADGATE_BAD_STRATEGY`
 */
export function checkGrowth(probed: ProbedStrategy, state: Float64Array, now: number, cost: number): void {
  if (probed.policy.strategy.growth === undefined) return
  const needs = needsOf(probed, state)
  checkBehind(probed, state, needs, now, cost)
  checkThinned(probed, state, needs, now)
}

function needsOf(probed: ProbedStrategy, state: Float64Array): number {
  const { policy } = probed
  const held = state.slice()
  const needs = policy.strategy.growth!.needs(state, margin, policy)
  probed.checkSlots('growth.needs', held, state)
  const least = policy.strategy.growth!.needs(probed.fresh(), margin, policy)
  if (!Number.isInteger(needs) || needs < least || needs > policy.slots || least < 1)
    probed.fail(
      `\`growth.needs\` returned ${needs}, and ${least} for zeros: a whole number of at least 1 is needed, at most ${policy.slots}, as ` +
        '`slots` says, and no bucket needs less than one of zeros'
    )
  return needs
}

/** What is behind the slots that are needed may be anything. */
function checkBehind(
  probed: ProbedStrategy,
  state: Float64Array,
  needs: number,
  now: number,
  cost: number
): void {
  const other = state.slice().fill(2 ** 40, margin + needs, state.length - margin)
  const clean = state.slice()
  for (const each of [clean, other]) probed.charge(each, now, cost, probed.ask(each, now, cost))
  for (const units of [1, probed.policy.capacity]) {
    const [one, another] = [clean, other].map((each) => JSON.stringify(probed.ask(each, now, units)))
    if (one !== another)
      probed.fail(
        `it read more slots than the ${needs} that \`growth.needs\` said, before it had written into them`
      )
  }
}

function checkThinned(probed: ProbedStrategy, state: Float64Array, needs: number, now: number): void {
  const { policy } = probed
  const { growth } = policy.strategy
  const room = Math.max(growth!.needs(probed.fresh(), margin, policy), Math.floor(needs / 2))
  const thinned = state.slice()
  growth!.thin(thinned, margin, policy, room)
  probed.checkSlots('growth.thin', state, thinned)
  const left = growth!.needs(thinned, margin, policy)
  if (left > room) probed.fail(`after \`growth.thin\` to ${room} slots a bucket needed ${left}`)
  const before = probed.ask(state, now, 1)
  const after = probed.ask(thinned, now, 1)
  if (after.remaining > before.remaining || after.resetMs < before.resetMs)
    probed.fail('after `growth.thin` a bucket answered laxer than before')
}
