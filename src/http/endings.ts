import type { Host } from './host.js'

/** Waits for the end of a response; true where it was sent whole. */
export type Ended = (isWhole: boolean) => void

/** The end of one response, for all that wait for it. */
interface Ending {
  readonly waiting: Set<Ended>
  /** undefined until it comes. */
  isWhole: boolean | undefined
}

/** By response. Each has one listener of its end, however many limiters it meets, and whatever they wait for. */
const endings = new WeakMap<object, Ending>()

/**
 * Calls back at the end of a response: at once if it has ended.
 * @returns what takes that back
 */
export function whenEnded<Res>(host: Host<never, Res>, response: Res, ended: Ended): () => void {
  const { waiting, isWhole } = endingOf(host, response)
  if (isWhole !== undefined) ended(isWhole)
  else waiting.add(ended)
  return () => void waiting.delete(ended)
}

function endingOf<Res>(host: Host<never, Res>, response: Res): Ending {
  const known = endings.get(response as object)
  if (known !== undefined) return known
  // One that is closed already says so to nobody.
  const ending: Ending = { waiting: new Set(), isWhole: host.isClosed(response) ? false : undefined }
  endings.set(response as object, ending)
  host.onEnd(response, (isWhole) => {
    if (ending.isWhole !== undefined) return
    ending.isWhole = isWhole
    for (const ended of ending.waiting) ended(isWhole)
    ending.waiting.clear()
  })
  return ending
}
