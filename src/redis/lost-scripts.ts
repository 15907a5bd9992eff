import type { Script } from './scripts/script.js'

/** Scripts that nodes have lost and that are on their way to them, with what waits for them to be there. */
export class LostScripts {
  readonly #loading = new Map<string, (() => void)[]>()

  /**
   * Waits for a script that a node has lost. False if nobody brings it back yet: then the caller does, and is to call
   * `loaded` in the end.
   */
  waitFor(node: string, script: Script, goOn: () => void): boolean {
    const waiting = this.#loading.get(idOf(node, script))
    if (waiting !== undefined) {
      waiting.push(goOn)
      return true
    }
    this.#loading.set(idOf(node, script), [])
    return false
  }

  /** Lets go on what waits for a script, whether it could be brought back or not. */
  loaded(node: string, script: Script): void {
    const waiting = this.#loading.get(idOf(node, script)) ?? []
    this.#loading.delete(idOf(node, script))
    for (const goOn of waiting) goOn()
  }
}

function idOf(node: string, { sha }: Script): string {
  return `${sha} ${node}`
}
