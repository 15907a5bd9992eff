import { spentTicket } from './connection.js'

/** What is relied on of the commands of ioredis 5 and 6: they are public, and made anew into what is written each time. */
interface Command {
  args: unknown[]
  toWritable(socket: Socket | undefined): unknown
}

type CommandClass = new (
  name: string,
  args: readonly string[],
  options: { readonly replyEncoding: 'utf8'; readonly keyPrefix: unknown }
) => Command

interface Socket {
  readonly destroyed?: boolean
}

/** Makes a command of the words of a script call, one of which is its ticket. */
type Make = (words: string[], ticketAt: number, keyPrefix: unknown) => Command

const makers = new WeakMap<object, Make>()

/**
 * How to make commands that are carried out once at the most. ioredis sends a command again when its connection was lost,
 * and nobody knows then whether the server has carried it out: the second time its ticket is spent.
 * @param call the method of clients that makes a command of words and sends it
 * @returns null for what is like ioredis, and makes no such commands
 */
export function commandsOf(call: (...words: readonly string[]) => unknown): Make | null {
  const Base = commandClassOf(call)
  if (Base === null) return null
  const known = makers.get(Base)
  if (known !== undefined) return known

  class ScriptCall extends Base {
    readonly #words: string[]
    readonly #ticketAt: number
    /** The connection that it was written to last. */
    #socket: Socket | undefined

    constructor(words: string[], ticketAt: number, keyPrefix: unknown) {
      super(words[0]!, words.slice(1), { replyEncoding: 'utf8', keyPrefix })
      this.#words = words
      this.#ticketAt = ticketAt
    }

    override toWritable(socket: Socket | undefined): unknown {
      if (this.#socket !== undefined && this.#socket !== socket && this.#socket.destroyed !== false)
        this.#words[this.#ticketAt] = spentTicket
      this.#socket = socket
      this.args[this.#ticketAt - 1] = this.#words[this.#ticketAt]
      return super.toWritable(socket)
    }
  }

  const make: Make = (words, ticketAt, keyPrefix) => new ScriptCall(words, ticketAt, keyPrefix)
  makers.set(Base, make)
  return make
}

/** The class of commands, of which clients show nothing but what they make: so one is made that nobody sends. */
function commandClassOf(call: (...words: readonly string[]) => unknown): CommandClass | null {
  try {
    const client = { options: {}, sendCommand: (command: object) => command }
    const command = call.call(client, 'PING') as Partial<Command> | undefined
    const isCommand = typeof command?.toWritable === 'function' && Array.isArray(command.args)
    return isCommand ? (command.constructor as CommandClass) : null
  } catch {
    return null
  }
}
