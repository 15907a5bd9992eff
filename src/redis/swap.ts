import type { Call, Change, Swapped, Swapping } from '../remote/backend.js'
import { keyOf } from './keys.js'
import type { Link } from './link.js'
import swapLua from './lua/swap.lua'
import { longestLifeMs, type Script, scriptOf, type TimeSource } from './scripts/script.js'

/** Compares and swaps the keys of one limiter, for strategies that have no Lua. */
export class RedisSwapping implements Swapping {
  readonly hint = '; a strategy with `lua` is decided in one step'
  readonly #link: Link
  readonly #script: Script
  readonly #prefix: string
  readonly #suffix: string

  constructor(link: Link, time: TimeSource, prefix: string, name: string) {
    this.#link = link
    this.#script = scriptOf(time, [swapLua])
    this.#prefix = prefix
    this.#suffix = `:${name}`
  }

  async swap(key: string, expected: string, change: Change | null, call: Call): Promise<Swapped> {
    const written = change ? writtenOf(change) : []
    const keys = [keyOf(this.#prefix, key) + this.#suffix]
    const reply = await this.#link.call(call, this.#script, keys, [expected, ...written])
    return { now: Number(reply[1]), isDone: Number(reply[2]) === 1, text: String(reply[3] ?? '') }
  }
}

function writtenOf({ text, lifeMs, mayShorten }: Change): string[] {
  return [text, String(Math.min(lifeMs, longestLifeMs)), mayShorten ? '0' : '1']
}
