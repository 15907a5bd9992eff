import underPressure from '@fastify/under-pressure'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { type ShedPluginOptions, shed } from '../../src/fastify/index.js'
import { until } from '../http/behaviour/harness.js'
import { page } from '../support/readme.js'

/*
 * What users of @fastify/under-pressure 9 have configured, row by row of the table in docs/shedding.md: both plugins are
 * run, and do the same.
 */

const open: FastifyInstance[] = []
afterEach(async () => {
  for (const app of open.splice(0)) await app.close()
})

/** A server with either plugin. */
async function serve(register: (app: FastifyInstance) => PromiseLike<unknown>, config: object = {}) {
  const app = Fastify()
  open.push(app)
  await register(app)
  app.get('/', { config }, async () => 'served')
  await app.ready()
  return app
}

const theirs = (options: object, config?: object) =>
  serve((app) => app.register(underPressure, options as never), config)
const ours = (options: Partial<ShedPluginOptions>, config?: object) =>
  serve((app) => app.register(shed, options as ShedPluginOptions), config)

/** Asks until a server answers so: samples take their time. */
async function answers(app: FastifyInstance, statusCode: number) {
  let answer = await app.inject('/')
  const end = performance.now() + 5000
  while (answer.statusCode !== statusCode && performance.now() < end) {
    await new Promise((resolve) => setImmediate(resolve))
    answer = await app.inject('/')
  }
  expect(answer.statusCode).toBe(statusCode)
  return answer
}

/** Keeps the event loop busy until something stops it. */
function block(ms = 30): () => void {
  let isOn = true
  const turn = () => {
    const end = performance.now() + ms
    while (performance.now() < end);
    if (isOn) setTimeout(turn, 0)
  }
  turn()
  return () => {
    isOn = false
  }
}

const quick = 20
const sick = { theirs: { healthCheck: async () => false, healthCheckInterval: 1000 } }
const sickHealth = { healthCheck: async () => false }

/** By the first cell of its row. */
const rows: Readonly<Record<string, () => Promise<void>>> = {
  async '`maxEventLoopDelay`'() {
    const stop = block()
    try {
      await answers(await theirs({ maxEventLoopDelay: 10, sampleInterval: quick }), 503)
      await answers(await ours({ health: { eventLoopDelay: 10, sampleInterval: quick } }), 503)
    } finally {
      stop()
    }
    for (const app of [
      await theirs({ maxEventLoopDelay: 60_000 }),
      await ours({ health: { eventLoopDelay: 60_000 } })
    ])
      expect((await app.inject('/')).statusCode).toBe(200)
  },
  async '`maxEventLoopUtilization`'() {
    const stop = block()
    try {
      await answers(await theirs({ maxEventLoopUtilization: 0.5, sampleInterval: quick }), 503)
      await answers(await ours({ health: { eventLoopUtilization: 0.5, sampleInterval: quick } }), 503)
    } finally {
      stop()
    }
  },
  async '`eventLoopUtilizationMode`'() {
    const own = await ours({ health: { eventLoopUtilization: 0.9, sampleInterval: quick } })
    const other = await theirs({
      maxEventLoopUtilization: 0.9,
      sampleInterval: quick,
      eventLoopUtilizationMode: 'interval'
    })
    // Of the last interval: however busy the loop was before, it is found idle, and busy, at once.
    const stop = block()
    await until(() => own.pressure.eventLoopUtilization! > 0.9, 5000)
    await until(() => other.memoryUsage().eventLoopUtilized > 0.9, 5000)
    stop()
    // The sampler of the plugin has a clock of its own: one of its intervals, at most a hundred times.
    const pause = () => new Promise((resolve) => setTimeout(resolve, quick))
    for (let i = 0; i < 100 && own.pressure.eventLoopUtilization! > 0.9; i++) await pause()
    expect(own.pressure.eventLoopUtilization).toBeLessThan(0.9)
  },
  async '`maxHeapUsedBytes`'() {
    await answers(await theirs({ maxHeapUsedBytes: 1, sampleInterval: quick }), 503)
    await answers(await ours({ health: { heapUsedBytes: 1, sampleInterval: quick } }), 503)
    const most = 2 ** 40
    await answers(await theirs({ maxHeapUsedBytes: most }), 200)
    await answers(await ours({ health: { heapUsedBytes: most } }), 200)
  },
  async '`maxRssBytes`'() {
    await answers(await theirs({ maxRssBytes: 1, sampleInterval: quick }), 503)
    await answers(await ours({ health: { rssBytes: 1, sampleInterval: quick } }), 503)
  },
  async '`sampleInterval`'() {
    const [other, own] = [
      await theirs({ maxRssBytes: 1, sampleInterval: 3_600_000 }),
      await ours({ health: { rssBytes: 1, sampleInterval: '1h' } })
    ]
    for (const app of [other, own]) expect((await app.inject('/')).statusCode).toBe(200)
  },
  async '`healthCheck`'() {
    await answers(await theirs(sick.theirs), 503)
    await answers(await ours({ health: sickHealth }), 503)
    await answers(await theirs({ ...sick.theirs, healthCheck: async () => true }), 200)
    await answers(await ours({ health: { healthCheck: async () => true } }), 200)
  },
  async '`healthCheckInterval`'() {
    let well = true
    const healthCheck = async () => well
    const apps = [
      await theirs({ healthCheck, healthCheckInterval: 1 }),
      await ours({ health: { healthCheck, healthCheckInterval: 1 } })
    ]
    for (const isWell of [false, true, false]) {
      well = isWell
      for (const app of apps) await answers(app, isWell ? 200 : 503)
    }
  },
  async '`exposeStatusRoute`'() {
    const health = { healthCheck: async () => ({ queue: 3, hidden: 4 }) }
    const queue = { queue: { type: 'number' } }
    const schema = {
      response: { 200: { type: 'object', properties: { status: { type: 'string' }, ...queue } } }
    }
    for (const [app, url, expected] of [
      [await theirs({ exposeStatusRoute: true }), '/status', { status: 'ok' }],
      [await ours({ statusRoute: true, concurrency: 9 }), '/status', { status: 'ok' }],
      [await theirs({ exposeStatusRoute: '/alive' }), '/alive', { status: 'ok' }],
      [await ours({ statusRoute: '/alive', concurrency: 9 }), '/alive', { status: 'ok' }],
      [
        await theirs({ ...health, exposeStatusRoute: { url: '/own', routeResponseSchemaOpts: queue } }),
        '/own',
        { status: 'ok', queue: 3 }
      ],
      [await ours({ health, statusRoute: { url: '/own', schema } }), '/own', { status: 'ok', queue: 3 }]
    ] as const)
      expect((await app.inject(url)).json()).toEqual(expected)
    const failing = await ours({ health: sickHealth, statusRoute: true })
    expect((await failing.inject('/status')).statusCode).toBe(503)
    expect(
      (await (await theirs({ ...sick.theirs, exposeStatusRoute: true })).inject('/status')).statusCode
    ).toBe(503)
  },
  async '`pressureHandler`'() {
    const seen: unknown[] = []
    const pressureHandler = (_request: unknown, _reply: unknown, type: string) => {
      seen.push(type)
      return 'out of order'
    }
    const onShed = (_request: unknown, _reply: unknown, { reason }: { reason: string }) => {
      seen.push(reason)
      return 'out of order'
    }
    expect((await (await theirs({ ...sick.theirs, pressureHandler })).inject('/')).body).toBe('out of order')
    expect((await (await ours({ health: sickHealth, onShed })).inject('/')).body).toBe('out of order')
    // Those that only look on.
    const look = (_request: unknown, _reply: unknown, type: string) => void seen.push(type)
    const shadow = (_request: unknown, { reason }: { reason: string }) => void seen.push(reason)
    await answers(await theirs({ ...sick.theirs, pressureHandler: look }), 200)
    await answers(await ours({ health: sickHealth, shadow }), 200)
    expect(seen).toEqual(Array(4).fill('healthCheck'))
  },
  async '`config.pressureHandler`'() {
    const pressureHandler = () => 'by the route'
    expect((await (await theirs(sick.theirs, { pressureHandler })).inject('/')).body).toBe('by the route')
    const onShed = () => 'by the route'
    expect((await (await ours({ health: sickHealth }, { shed: { onShed } })).inject('/')).body).toBe(
      'by the route'
    )
  },
  async '`retryAfter`'() {
    const wait = async (app: FastifyInstance) => (await app.inject('/')).headers['retry-after']
    expect(await wait(await theirs(sick.theirs))).toBe('10')
    expect(await wait(await ours({ health: sickHealth }))).toBe('10')
    expect(await wait(await theirs({ ...sick.theirs, retryAfter: 50 }))).toBe('50')
    expect(await wait(await ours({ health: sickHealth, retryAfter: '50s' }))).toBe('50')
  },
  async '`message`'() {
    const told = async (app: FastifyInstance) => (await app.inject('/')).json().message
    expect(await told(await theirs({ ...sick.theirs, message: 'Under pressure!' }))).toBe('Under pressure!')
    expect(await told(await ours({ health: sickHealth, message: 'Under pressure!' }))).toBe('Under pressure!')
  },
  async '`customError`'() {
    class CustomError extends Error {
      readonly statusCode = 503
    }
    const caught: unknown[] = []
    const collect = (app: FastifyInstance) =>
      app.setErrorHandler((error, _request: FastifyRequest, reply: FastifyReply) => {
        caught.push(error instanceof CustomError)
        return reply.code(503).send('custom')
      })
    for (const app of [
      await serve((one) =>
        collect(one).register(underPressure, { ...sick.theirs, customError: CustomError } as never)
      ),
      await serve((one) =>
        collect(one).register(shed, { health: sickHealth, onShed: () => new CustomError() })
      )
    ])
      expect((await app.inject('/')).body).toBe('custom')
    expect(caught).toEqual([true, true])
  },
  async '`isUnderPressure()`'() {
    for (const isWell of [true, false]) {
      const healthCheck = async () => isWell
      expect((await theirs({ healthCheck, healthCheckInterval: 1000 })).isUnderPressure()).toBe(!isWell)
      expect((await ours({ health: { healthCheck } })).pressure.isShedding).toBe(!isWell)
    }
  },
  async '`memoryUsage()`'() {
    const other = await theirs({ sampleInterval: quick })
    const own = await ours({ health: { rssBytes: 2 ** 50, sampleInterval: quick } })
    await until(() => other.memoryUsage().rssBytes > 0, 5000)
    const { eventLoopDelayMs, eventLoopUtilization, heapUsedBytes, rssBytes } = own.pressure
    expect(rssBytes! / other.memoryUsage().rssBytes).toBeCloseTo(1, 0)
    expect(heapUsedBytes).toBeGreaterThan(0)
    expect(eventLoopDelayMs).toBeGreaterThanOrEqual(0)
    expect(eventLoopUtilization).toBeGreaterThanOrEqual(0)
    expect(Object.keys(other.memoryUsage()).sort()).toEqual([
      'eventLoopDelay',
      'eventLoopUtilized',
      'heapUsed',
      'rssBytes'
    ])
  }
}

describe('the options of @fastify/under-pressure', () => {
  const [, table] = page('docs/shedding.md').split(
    '\n| @fastify/under-pressure | headgate |\n| --- | --- |\n'
  )
  const listed = table!.split('\n\n')[0]!.split('\n')

  it('are all in the table', () => {
    expect(listed.map((row) => row.split(' | ')[0]!.slice(2))).toEqual(Object.keys(rows))
  })

  it.each(Object.entries(rows))('%s does the same here', (_name, check) => check())

  it.each([
    ['maxEventLoopDelay', '`eventLoopDelay`, an option of the `health` of `shed`'],
    ['maxEventLoopUtilization', '`eventLoopUtilization`, an option of the `health` of `shed`'],
    ['eventLoopUtilizationMode', 'always that of the last interval'],
    ['maxHeapUsedBytes', '`heapUsedBytes`'],
    ['maxRssBytes', '`rssBytes`'],
    ['sampleInterval', 'an option of the `health` of `shed`'],
    ['healthCheck', 'an option of the `health` of `shed`'],
    ['healthCheckInterval', 'an option of the `health` of `shed`'],
    ['exposeStatusRoute', 'did you mean `statusRoute`?'],
    ['pressureHandler', 'did you mean `onShed`?'],
    ['customError', 'did you mean `onShed`?']
  ])('are answered with our name: %s', async (name, hint) => {
    const app = Fastify()
    await expect(
      async () => await app.register(shed, { concurrency: 1, [name]: 1 } as never)
    ).rejects.toThrow(hint)
  })
})
