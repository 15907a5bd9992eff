import { type Held, type Outcome, passed } from './outcome.js'
import { isPromiseLike } from './promise.js'

/** Takes a request through gates in order, until one does not let it pass. It goes on once none of them holds it back. */
export function throughAll<G>(
  gates: readonly G[],
  enter: (gate: G) => Outcome | PromiseLike<Outcome>,
  from = 0,
  held: Held[] = []
): Outcome | PromiseLike<Outcome> {
  for (let i = from; i < gates.length; i++) {
    const outcome = enter(gates[i]!)
    if (isPromiseLike<Outcome>(outcome))
      return outcome.then((late) => (goesOn(late, held) ? throughAll(gates, enter, i + 1, held) : late))
    if (!goesOn(outcome, held)) return outcome
  }
  return heldBy(held)
}

/** True where a request goes on to the next gate; notes what holds it back then. */
function goesOn(outcome: Outcome, held: Held[]): boolean {
  if (outcome.kind === 'held') held.push(outcome)
  return outcome.kind === 'held' || outcome.kind === 'passed'
}

/** All that hold a request back, as one. */
function heldBy(held: readonly Held[]): Outcome {
  if (held.length < 2) return held[0] ?? passed
  const whenDue = (next: () => void) => {
    let left = held.length
    for (const one of held)
      one.whenDue(() => {
        left--
        if (left === 0) next()
      })
  }
  return { kind: 'held', forMs: Math.max(...held.map(({ forMs }) => forMs)), whenDue }
}
