import type { Connected } from './clients.js'

/** A script call as a client got it. */
export interface CapturedCall {
  readonly command: readonly string[]
  /** What the store said the first key is. */
  readonly key: string
  readonly keys: readonly string[]
  /** What follows the ticket. */
  readonly args: readonly string[]
}

/** A client that is a function, and what it was asked. */
export interface Captured {
  readonly client: (command: readonly string[], key: string) => Promise<unknown>
  readonly calls: CapturedCall[]
}

/** Passes commands on to a client, and notes script calls but for those that find a script lost, which are sent again. */
export function captured(connected: () => Pick<Connected, 'command'>): Captured {
  const calls: CapturedCall[] = []
  const client = (command: readonly string[], key: string) => {
    const count = Number(command[2])
    if (!command[0]!.startsWith('EVAL')) return connected().command(...command)
    const call = { command, key, keys: command.slice(3, 3 + count), args: command.slice(4 + count) }
    calls.push(call)
    return connected()
      .command(...command)
      .catch((error) => {
        if (String(error).includes('NOSCRIPT')) calls.splice(calls.indexOf(call), 1)
        throw error
      })
  }
  return { client, calls }
}
