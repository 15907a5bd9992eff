/**
 * What is known of a server's clock: by how much it is ahead of this process's monotonic one. An answer that tells the
 * time bounds that from both sides, since the server read its clock after it was asked and before the answer came. The
 * narrowest bounds are kept, so that an answer which was slow, or was read late, takes nothing back; bounds that no
 * longer agree tell that a clock was set.
 */
export class ServerClock {
  /** Before the first answer, as if it were this machine's: if it is not, the answer corrects it. */
  #least: number
  #most = Number.POSITIVE_INFINITY
  #isKnown = false

  constructor(machineAhead: number) {
    this.#least = machineAhead
  }

  /** How far it is ahead, ms, at the least: by this no instant is taken for later than it is there. */
  get ahead(): number {
    return this.#least
  }

  /**
   * Takes an answer into account.
   * @param now the server's time in whole ms
   * @param askedAt when it was asked, on the monotonic clock
   * @param tookMs how long the answer was on its way, without the time in which nobody could have read it
   */
  note(now: number, askedAt: number, tookMs: number): void {
    const least = now - askedAt - tookMs
    const most = now + 1 - askedAt
    const agrees = this.#isKnown && least <= this.#most && most >= this.#least
    this.#least = agrees ? Math.max(this.#least, least) : least
    this.#most = agrees ? Math.min(this.#most, most) : most
    this.#isKnown = true
  }
}
