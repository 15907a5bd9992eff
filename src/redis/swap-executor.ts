import type { AsyncCountersOptions } from '../core/async-store.js'
import { HeadgateError } from '../core/errors.js'
import type { Policy } from '../core/policy.js'
import type { Executor } from '../remote/counters.js'
import { Limits } from '../remote/limits.js'
import type { Link } from './link.js'
import { type Deed, longestLife } from './lua-script.js'
import type { Place } from './places.js'
import type { Reply } from './reply.js'
import { type Script, script } from './script.js'
import { SwapState } from './swap-state.js'

/**
 * Sets a key to new text if it still has the text that was read. ARGV: ticket, clock, expected, new, life in ms, and
 * whether it is to live at least as long as it would have.
 * Reply: [1, now, done, text].
 */
const swapScript: Script = script(`
local t = redis.call('TIME')
local now = ARGV[2] == '' and t[1] * 1000 + math.floor(t[2] / 1000) or tonumber(ARGV[2])
if now > tonumber(ARGV[1]) then return { 0, now } end
local held = redis.pcall('GET', KEYS[1])
if type(held) ~= 'string' then held = '' end
if ARGV[3] ~= held then return { 1, now, 0, held } end
local life = tonumber(ARGV[5])
if ARGV[6] == '1' then life = math.max(life, redis.call('PTTL', KEYS[1])) end
if life <= 0 then
  redis.call('DEL', KEYS[1])
else
  if ARGV[2] ~= '' then life = math.min(life + 86400000, ${longestLife}) end
  redis.call('SET', KEYS[1], ARGV[4], 'PX', life)
end
return { 1, now, 1, ARGV[4] }
`)

/** How often a key that others change meanwhile is read again. */
const mostAttempts = 20

/** What no key holds, so that it is only read. */
const nothing = '-'

/**
 * Carries out deeds of strategies that have no Lua: reads what the key has, decides here, and writes if nobody else has
 * in between. Deeds of one key of this process follow one another, so that only other processes are in the way.
 */
export class SwapExecutor implements Executor {
  readonly #link: Link
  readonly #options: AsyncCountersOptions
  readonly #limits: Limits
  /** The last deed of each key that is not done yet. */
  readonly #tails = new Map<string, Promise<unknown>>()

  constructor(link: Link, options: AsyncCountersOptions) {
    this.#link = link
    this.#options = options
    this.#limits = new Limits(options.policies)
  }

  execute(
    place: Place,
    deed: Deed,
    cost: number,
    extra: string,
    policies: readonly Policy[]
  ): Promise<Reply> {
    this.#limits.see(deed, policies)
    const key = place.keys[0]!
    const before = this.#tails.get(key) ?? Promise.resolve()
    const dueAt = this.#link.dueAt()
    const run = () => this.#run(place, dueAt, deed, cost, extra, policies)
    const done = before.then(run, run)
    this.#tails.set(key, done)
    const clear = () => {
      if (this.#tails.get(key) === done) this.#tails.delete(key)
    }
    done.then(clear, clear)
    return done
  }

  async #run(
    place: Place,
    dueAt: number,
    deed: Deed,
    cost: number,
    extra: string,
    policies: readonly Policy[]
  ): Promise<Reply> {
    const key = place.keys[0]!
    let [now, , text] = await this.#swap(place, dueAt, key, nothing)
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      const state = new SwapState({
        policies,
        slowest: this.#limits.slowestBeside(policies),
        options: this.#options,
        text,
        now
      })
      const reply = state.perform(deed, cost, extra)
      if (!state.isChanged) return reply
      const [later, isDone, held] = await this.#swap(place, dueAt, key, text, state)
      if (isDone) return reply
      now = later
      text = held
    }
    throw new HeadgateError(
      'HEADGATE_STORE_FAILED',
      `Other processes changed a key ${mostAttempts} times while it was decided; a strategy with \`lua\` is decided in one step.`
    )
  }

  async #swap(
    { node }: Place,
    dueAt: number,
    key: string,
    expected: string,
    state?: SwapState
  ): Promise<[now: number, isDone: boolean, text: string]> {
    const written = state ? [state.text, String(state.lifeMs), state.varies ? '1' : '0'] : []
    const reply = await this.#link.call(node, swapScript, [key], [expected, ...written], dueAt)
    return [Number(reply[1]), Number(reply[2]) === 1, String(reply[3] ?? '')]
  }
}
