import { type Outcome, passed } from './outcome.js'
import { isPromiseLike } from './promise.js'

/** Takes a request through gates in order, until one does not let it pass. Of what holds it back the longest time counts. */
export function throughAll<G>(
  gates: readonly G[],
  enter: (gate: G) => Outcome | PromiseLike<Outcome>,
  from = 0,
  heldMs = 0
): Outcome | PromiseLike<Outcome> {
  let forMs = heldMs
  for (let i = from; i < gates.length; i++) {
    const outcome = enter(gates[i]!)
    if (isPromiseLike<Outcome>(outcome))
      return outcome.then((late) =>
        ends(late) ? late : throughAll(gates, enter, i + 1, Math.max(forMs, holdOf(late)))
      )
    if (ends(outcome)) return outcome
    forMs = Math.max(forMs, holdOf(outcome))
  }
  return forMs === 0 ? passed : { kind: 'held', forMs }
}

function ends({ kind }: Outcome): boolean {
  return kind !== 'passed' && kind !== 'held'
}

function holdOf(outcome: Outcome): number {
  return outcome.kind === 'held' ? outcome.forMs : 0
}
