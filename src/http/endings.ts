import type { Host } from './host.js'

/** Waits for the end of a response; true where it was sent whole. */
export type Ended = (isWhole: boolean) => void

/** The end of one response, for all that wait for it. Most have one, which is held apart (bench/http.js, in flight). */
class Ending {
  /** undefined until it comes. */
  isWhole: boolean | undefined
  #first: Ended | null = null
  #others: Ended[] | null = null

  add(ended: Ended): void {
    if (this.isWhole !== undefined) ended(this.isWhole)
    else if (this.#first === null) this.#first = ended
    else if (this.#others === null) this.#others = [ended]
    else this.#others.push(ended)
  }

  delete(ended: Ended): void {
    if (this.#first === ended) this.#first = null
    else this.#others = this.#others?.filter((other) => other !== ended) ?? null
  }

  come(isWhole: boolean): void {
    if (this.isWhole !== undefined) return
    this.isWhole = isWhole
    const [first, others] = [this.#first, this.#others]
    this.#first = this.#others = null
    first?.(isWhole)
    if (others !== null) for (const ended of others) ended(isWhole)
  }
}

/** Where a response keeps its end. Each has one listener of it, however many limiters it meets, and whatever they wait for. */
const slot = Symbol('headgate.ending')

interface Slotted {
  [slot]?: Ending
}

/**
 * Calls back at the end of a response: at once if it has ended.
 * @returns what takes that back
 */
export function whenEnded<Res>(host: Host<never, Res>, response: Res, ended: Ended): () => void {
  const ending = endingOf(host, response)
  ending.add(ended)
  return () => ending.delete(ended)
}

/** The same where nobody takes it back; true if it has ended already. */
export function onEnded<Res>(host: Host<never, Res>, response: Res, ended: Ended): boolean {
  const ending = endingOf(host, response)
  ending.add(ended)
  return ending.isWhole !== undefined
}

function endingOf<Res>(host: Host<never, Res>, response: Res): Ending {
  const slotted = response as Slotted
  const known = slotted[slot]
  if (known !== undefined) return known
  const ending = new Ending()
  // One that is closed already says so to nobody.
  if (host.isClosed(response)) ending.isWhole = false
  slotted[slot] = ending
  host.onEnd(response, (isWhole) => ending.come(isWhole))
  return ending
}
