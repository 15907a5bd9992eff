import { afterEach, describe, expect, it, vi } from 'vitest'
import { createLimiter } from '../../../src/index.js'
import { redisStore } from '../../../src/redis/index.js'
import { slotOf } from '../../../src/redis/slot.js'
import { forgetWarnings } from '../../http/behaviour/harness.js'
import { freshPrefix, servers } from '../support/stores.js'
import { clientNamed, limiterOn, noUnhandledRejections } from './outage.js'

const cleanup: (() => unknown)[] = []

noUnhandledRejections()
afterEach(async () => {
  vi.useRealTimers()
  for (const clean of cleanup.splice(0)) await clean()
})

async function connect(name = 'ioredis 6') {
  const connected = await clientNamed(name).connectSingle(servers!.single)
  cleanup.push(connected.close)
  return connected
}

/** A client that passes script calls on, unless `meddle` makes another reply of one. */
async function meddled(meddle: () => unknown) {
  const { command } = await connect()
  return async (words: readonly string[]) => {
    if (!words[0]!.startsWith('EVAL')) return command(...words)
    const other = meddle()
    return other === undefined ? command(...words) : Promise.resolve(other)
  }
}

describe.skipIf(servers === null)('a reply that is none', () => {
  it.each([
    ['of a transaction that somebody has opened on the client', 'QUEUED'],
    ['that is nothing', null],
    ['with a time that is none', [1, 'soon', 1, 5, 5]],
    ['of another command', [1]]
  ])('fails its call alone: one %s', async (_, odd) => {
    let isOdd = false
    const { limiter, states } = limiterOn(await meddled(() => (isOdd ? odd : undefined)))
    const sources = []
    for (let i = 0; i < 5; i++) {
      isOdd = i === 1
      sources.push((await limiter.consume('key')).source)
    }
    expect(sources).toEqual(['store', 'local', 'store', 'store', 'store'])
    expect(states).toEqual([])
  })
})

describe.skipIf(servers === null)('a transaction that is open on the client', () => {
  it('is said to be, once, and by the error of an outage', async () => {
    forgetWarnings()
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const messages: string[] = []
    const onStateChange = ({ error }: { error?: Error }) => void (error && messages.push(error.message))
    const { limiter } = limiterOn(await meddled(() => 'QUEUED'), { onStateChange })
    for (let i = 0; i < 4; i++) expect((await limiter.consume('key')).source).toBe('local')
    expect(warned.mock.calls.map(([, options]) => (options as { code: string }).code)).toEqual([
      'HEADGATE_TRANSACTION'
    ])
    expect(messages).toEqual([expect.stringContaining('QUEUED')])
    warned.mockRestore()
  })
})

/** Errors by which clients say that a server lacks a script. */
const wordings: readonly (() => Error)[] = [
  () => new Error('NOSCRIPT No matching script. Please use EVAL.'),
  () => new Error('Command failed: NOSCRIPT No matching script'),
  () => Object.assign(new Error('No matching script'), { name: 'NoScriptError' }),
  () => Object.assign(new Error('it failed'), { name: 'NoScriptError' }),
  () => new Error('it failed', { cause: new Error('NOSCRIPT No matching script') }),
  () => new Error('something that nobody has heard of')
]

describe.skipIf(servers === null)('a script that the server lacks', () => {
  it.each(wordings.map((make) => [String(make()), make] as const))(
    'is brought to it: %s',
    async (_, make) => {
      const { command } = await connect()
      const known = new Set<string>()
      const commands: string[] = []
      const client = async (words: readonly string[]) => {
        const [name, script] = words as [string, string]
        commands.push(name)
        if (name === 'EVALSHA' && !known.has(script)) {
          known.add(script)
          throw make()
        }
        return command(...words)
      }
      const { limiter, states } = limiterOn(client)
      expect((await limiter.consume('key')).source).toBe('store')
      expect((await limiter.consume('key')).source).toBe('store')
      expect(commands.filter((name) => name.startsWith('EVAL'))).toEqual(['EVALSHA', 'EVAL', 'EVALSHA'])
      expect(states).toEqual([])
    }
  )

  it('is not looked for behind an error that is understood', async () => {
    const commands: string[] = []
    const client = async ([name]: readonly string[]) => {
      commands.push(name!)
      throw new Error('READONLY You can’t write against a read only replica.')
    }
    const { limiter } = limiterOn(client)
    expect((await limiter.consume('key')).source).toBe('local')
    expect(commands).toEqual(['EVALSHA'])
  })
})

describe('a client that settles nothing', () => {
  it('is sent no more than so much, however long that lasts', async () => {
    let sent = 0
    const hang = () => {
      sent++
      return new Promise(() => {})
    }
    const { limiter } = limiterOn(hang, { deadline: 1, breaker: { failures: 1, cooldown: 1 } })
    const pause = () => new Promise((next) => setTimeout(next, 1))
    for (let i = 0; i < 600; i++) {
      await limiter.consume('key')
      await pause()
    }
    expect(sent).toBeLessThanOrEqual(257)
  }, 60_000)
})

describe.skipIf(servers === null)('a test that fakes time', () => {
  it.each(['ioredis 6', 'node-redis 6'])('does not stop %s from answering', async (name) => {
    const { limiter } = limiterOn((await connect(name)).client)
    await limiter.consume('warm')
    vi.useFakeTimers()
    const decisions = await Promise.all(
      Array.from({ length: 100 }, (_, i) => limiter.consume(`key ${i % 7}`))
    )
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['store']))
  })

  it('is given up in real time where the server hangs', async () => {
    const { limiter } = limiterOn(() => new Promise(() => {}))
    vi.useFakeTimers()
    expect((await limiter.consume('key')).source).toBe('local')
  })
})

describe('the `deadline`', () => {
  it('is refused beyond what a timer can hold', () => {
    const store = (deadline: string | number) => redisStore(async () => [], { deadline })
    expect(() => store('25d')).toThrowError(
      expect.objectContaining({
        code: 'HEADGATE_BAD_OPTION',
        message: expect.stringContaining('`deadline` is "25d"')
      })
    )
    expect(() => store(2 ** 31)).toThrow('24 days')
    expect(() => store('24d')).not.toThrow()
  })
})

describe('a function to a cluster', () => {
  /** Three nodes, of which those named are down. */
  function clusterOf(down: Set<string>) {
    const asked: string[] = []
    const slots = [
      [0, 5460, ['10.0.0.1', 7000, 'a']],
      [5461, 10_922, ['10.0.0.2', 7000, 'b']],
      [10_923, 16_383, ['10.0.0.3', 7000, 'c']]
    ]
    const nodeOf = (key: string) => {
      const slot = slotOf(tagIn(key))
      return slots.find(([, last]) => slot <= (last as number))![2] as [string]
    }
    const client = async (words: readonly string[], key: string) => {
      if (words[0] === 'CLUSTER') return slots
      const [node] = nodeOf(key)
      asked.push(node)
      if (down.has(node)) throw new Error('connect ECONNREFUSED')
      return [1, Date.now(), 1, 5, 1000]
    }
    return { client, asked, nodeOf: (key: string) => nodeOf(`{${key}}`)[0] }
  }
  const tagIn = (key: string) => key.slice(key.indexOf('{') + 1, key.indexOf('}'))

  it('has a breaker for each node, and none for each slot', async () => {
    const { client, asked, nodeOf } = clusterOf(new Set(['10.0.0.2']))
    const store = redisStore(client as never, {
      prefix: freshPrefix(),
      cluster: true,
      onStateChange: () => {},
      breaker: { failures: 3, cooldown: '1h' }
    })
    const limiter = createLimiter({ limit: 1000, window: '1h', store })
    for (let i = 0; i < 300; i++) {
      const { source } = await limiter.consume(`key-${i}`)
      expect(source).toBe(nodeOf(`key-${i}`) === '10.0.0.2' ? 'local' : 'store')
    }
    expect(asked.filter((node) => node === '10.0.0.2').length).toBeLessThanOrEqual(6)
  })
})
