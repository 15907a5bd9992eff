/*
 * How several limiters charge one request: all of them, or none. What denies is told so by its own limiter, which then
 * charges and blocks as it would for a request of its own.
 */

import { AsyncPolicyLimiter } from './async-limiter.js'
import type { PolicyLimiter } from './limiter.js'
import type { Part } from './together.js'
import { kept, type Verdict } from './verdict.js'

/** Parts whose limiters are of a store outside the process. */
type LatePart = Omit<Part, 'limiter'> & { readonly limiter: AsyncPolicyLimiter }

/** Parts whose limiters are in this process. */
type PartHere = Omit<Part, 'limiter'> & { readonly limiter: PolicyLimiter }

/**
 * Charges at once. The others are looked at before the first is charged, so that a denial leaves no trace; only another
 * thread can come between, and then what was charged is given back.
 */
export function takeHere(parts: readonly Part[]): readonly Verdict[] {
  const here = parts as readonly PartHere[]
  const looks = here.map((part, i) => (i === 0 ? null : looked(part)))
  if (looks.some((look) => look !== null && !look.isAllowed))
    return here.map((part, i) => refusedUntaken(part, looks[i] ?? looked(part)))
  const taken: Verdict[] = []
  for (const part of here) {
    let verdict: Verdict
    try {
      verdict = kept(take(part) as Verdict)
    } catch (error) {
      // A strategy of the user's.
      for (const [i, one] of taken.entries()) refusedTaken(here[i]!, one)
      throw error
    }
    taken.push(verdict)
    if (!verdict.isAllowed)
      return here.map((each, i) => {
        if (i >= taken.length) return refusedUntaken(each, looks[i]!)
        return taken[i]!.isAllowed ? refusedTaken(each, taken[i]!) : taken[i]!
      })
  }
  return taken
}

/**
 * Charges in a store outside the process: in one step where it can; otherwise all are asked at once, and where one denies,
 * what the others charged is given back.
 * @throws what a strategy of the user throws
 */
export async function takeFromStore(parts: readonly Part[]): Promise<readonly Verdict[]> {
  const together = AsyncPolicyLimiter.takeTogether(parts as readonly LatePart[])
  if (together !== null) return settled(parts, await together)
  const asked = await Promise.allSettled(parts.map(async (part) => take(part)))
  const taken = asked.map((one) => (one.status === 'fulfilled' ? one.value : null))
  const verdicts = await settled(parts, taken)
  for (const one of asked) if (one.status === 'rejected') throw one.reason
  return verdicts
}

/** What all say in the end: where one denies, or has failed, what the others charged is given back. */
async function settled(
  parts: readonly Part[],
  taken: readonly (Verdict | null)[]
): Promise<readonly Verdict[]> {
  if (taken.every((verdict) => verdict?.isAllowed === true)) return taken as readonly Verdict[]
  return Promise.all(
    parts.map((part, i) => (taken[i]?.isAllowed === true ? givenBack(part, taken[i]) : taken[i]!))
  )
}

function take({ limiter, key, cost, policies }: Part): Verdict | Promise<Verdict> {
  if (limiter.admission === null) return limiter.take(key, cost, policies)
  return limiter.admission.admit({ key, cost, policies }, null, false) as Verdict | Promise<Verdict>
}

function looked(part: PartHere): Verdict {
  const { limiter, key, cost, policies } = part
  return kept(cost === 0 ? limiter.take(key, 0, policies) : limiter.look(key, policies, cost))
}

/** What a part says that was not charged. */
function refusedUntaken(part: PartHere, look: Verdict): Verdict {
  const { limiter, key, cost, policies } = part
  if (look.isAllowed) {
    if (!limiter.countsDenied) return look
    limiter.charge(key, cost, policies)
    return looked(part)
  }
  const denial = kept(take(part) as Verdict)
  if (!denial.isAllowed) return denial
  // It would admit by now; but the request was denied.
  refusedTaken(part, denial)
  return look
}

/** What a part says that was charged, though another denies. */
function refusedTaken(part: PartHere, taken: Verdict): Verdict {
  const { limiter, key, cost, policies } = part
  releasePermit(part, taken)
  if (!limiter.countsDenied) limiter.giveBack(key, cost, policies, taken)
  return looked(part)
}

/** The same in a store outside the process, in the turn in which the charge is given back: so it is asked once. */
async function givenBack(part: Part, taken: Verdict): Promise<Verdict> {
  const { limiter, key, cost, policies } = part
  releasePermit(part, taken)
  if (taken.charged === 0) return taken
  if (limiter.countsDenied) return limiter.look(key, policies, cost)
  const given = Promise.resolve(limiter.giveBack(key, cost, policies, taken))
  // Where the store fails, the charge stays.
  given.then(undefined, () => {})
  const [look] = await Promise.all([limiter.look(key, policies, cost), given.then(undefined, () => {})])
  return look
}

function releasePermit({ limiter, key, cost }: Part, { permit = 0 }: Verdict): void {
  if (permit !== 0) limiter.giveBackPermit(key, permit, cost, 0, 'ignored')
}
