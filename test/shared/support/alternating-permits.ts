import type { Buckets, BucketsOptions, Store } from '../../../src/core/store.js'
import type { Verdict } from '../../../src/core/verdict.js'
import { type SharedStore, sharedStore } from '../../../src/shared/index.js'

/**
 * A store whose every call goes to the next of several attachments, as threads in turn would, except that permits are
 * released by the one that took them.
 */
export function alternatingPermits(store: SharedStore, threads = 2): Store {
  const others = Array.from({ length: threads - 1 }, () => sharedStore({ from: store.handle }))
  return {
    open: (options: BucketsOptions) => inTurn([store, ...others].map((each) => each.open(options))),
    clear: () => others[0]!.clear()
  }
}

function inTurn(all: readonly Buckets[]): Buckets {
  let turn = 0
  const next = () => {
    turn = (turn + 1) % all.length
    return all[turn]!
  }
  const buckets: Buckets = {
    decide: (...args) => {
      const verdict: Verdict = next().decide(...args)
      return verdict.permit ? { ...verdict, permit: turn + 1 } : verdict
    },
    refund: (...args) => next().refund(...args),
    reset: (key) => next().reset(key),
    clear: () => next().clear(),
    block: (...args) => next().block(...args),
    size: (now) => next().size(now)
  }
  if (all[0]!.release === undefined) return buckets
  return {
    ...buckets,
    releasesUnseen: true,
    release: (key, permit, cost, result) => all[permit - 1]!.release!(key, 1, cost, result),
    onRelease: (listener) => {
      for (const each of all) each.onRelease!(listener)
    }
  }
}
