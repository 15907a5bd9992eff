import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { fixed, headgate, isChild, isMain, isQuick, print, startChild } from './harness.js'
import { overload, peak, trickle } from './overload-load.js'

/*
 * A service of 5 ms of CPU a request, at three times what it can do. The server and its clients are processes of their own;
 * requests come at random moments, whether earlier ones were answered or not, as over
 * a proxy that keeps connections open. One in ten is critical. A client waits for a
 * second: what comes later, or is an error, is no goodput.
 *
 * The service is measured twice: with handlers that work at once, so that requests queue in their sockets and there is never
 * more than one in flight; and with handlers that wait first, as for a database, so that they queue in flight.
 *
 * Each server is measured first with a request now and then (idle), then with two clients that wait for each answer (peak),
 * then overloaded, and then with the two clients again; so goodput is a part of what the same process could do just before
 * and after.
 */

const seconds = isQuick
  ? { idle: 1, peak: 1, warmUp: 1, overload: 3 }
  : { idle: 3, peak: 3, warmUp: 2, overload: 10 }
const workMs = 5
const times = 3
const criticalPart = 0.1

/** What both shedders have as threshold, ms: three requests that wait. */
const delayMs = 15
/** What ours has besides: that and as many again. */
const inFlight = 6

const contestants = {
  unprotected() {},
  async '@fastify/under-pressure'(app) {
    const { default: underPressure } = await import('@fastify/under-pressure')
    await app.register(underPressure, { maxEventLoopDelay: delayMs })
  },
  async 'headgate, by health'(app) {
    const { shed } = await headgate('fastify/index.js')
    await app.register(shed, { priority: priorityOf, health: { eventLoopDelay: delayMs, inFlight } })
  },
  async 'headgate, adaptive'(app) {
    const { rateLimit } = await headgate('fastify/index.js')
    await app.register(rateLimit, { key: () => 'all', concurrency: { adaptive: 'gradient' } })
  }
}

function priorityOf({ url }) {
  return url === '/critical' ? 'critical' : 'background'
}

/** Where it is not built yet, its options are refused. */
async function isThere(name) {
  const { default: fastify } = await import('fastify')
  const app = fastify()
  try {
    await contestants[name](app)
    await app.ready()
    return true
  } catch {
    return false
  } finally {
    await app.close()
  }
}

/** CPU work of a fixed size. */
function work(rounds) {
  let state = 1
  for (let i = 0; i < rounds; i++) state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + i
  return state
}

/** How many rounds take as long as the work of a request. */
function calibrate() {
  const rounds = 1_000_000
  work(rounds)
  const found = Array.from({ length: 9 }, () => {
    const { user } = process.cpuUsage()
    work(rounds)
    return process.cpuUsage().user - user
  })
  return Math.round((rounds * workMs * 1000) / found.sort((a, b) => a - b)[4])
}

/** What answers, by the kind of service. */
const handlers = {
  'works at once': (rounds) => (_request, reply) => void reply.send(String(work(rounds))),
  'waits first': (rounds) => async () => {
    await setTimeout(1)
    return String(work(rounds))
  }
}

async function serve(name, kind, rounds) {
  const { default: fastify } = await import('fastify')
  const app = fastify({ keepAliveTimeout: 60_000 })
  await contestants[name](app)
  const handler = handlers[kind](Number(rounds))
  app.get('/critical', handler)
  app.get('/background', handler)
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  process.on('disconnect', () => process.exit(0))
  process.send({ port: Number(new URL(address).port) })
}

async function load(port) {
  const idle = await trickle(port, { everyMs: 50, seconds: seconds.idle })
  const before = await peak(port, { clients: 2, seconds: seconds.peak })
  const found = await overload(port, {
    perSecond: times * before,
    criticalPart,
    warmUp: seconds.warmUp,
    seconds: seconds.overload
  })
  const after = await peak(port, { clients: 2, seconds: seconds.peak })
  process.send({ idle, most: (before + after) / 2, ...found }, () => process.exit(0))
}

/** Keeps a process on one core, where that can be. */
function pin({ pid }, core) {
  if (cpus().length > 1) spawnSync('taskset', ['-a', '-p', '-c', String(core), String(pid)])
}

/** A server and its load, on a core each. */
async function measure(name, kind, rounds) {
  const server = startChild(import.meta.url, ['serve', name, kind, rounds])
  pin(server, 0)
  const [{ port }] = await once(server, 'message')
  const clients = startChild(import.meta.url, ['load', port])
  pin(clients, 1)
  const [found] = await once(clients, 'message')
  server.disconnect()
  return found
}

export async function run() {
  const rounds = calibrate()
  const names = []
  for (const name of Object.keys(contestants)) if (await isThere(name)) names.push(name)
  const targets = []
  for (const kind of Object.keys(handlers)) {
    const found = []
    for (const name of names) found.push({ name, ...(await measure(name, kind, rounds)) })
    tell(kind, found)
    const own = found.find(({ name }) => name === 'headgate, by health')
    targets.push(
      { what: `overload, ${kind}: peak, of goodput`, found: own.most / own.goodput, target: 1 / 0.9 },
      { what: `overload, ${kind}: p99 of admitted, of idle`, found: own.p99 / own.idle, target: 5 },
      { what: `overload, ${kind}: critical not served, %`, found: 100 * (1 - own.critical), target: 1 }
    )
  }
  return targets
}

function tell(kind, found) {
  print({
    title: `a service that ${kind}, at ${times} times what it can do`,
    columns: [
      '',
      'peak/s',
      'goodput/s',
      'of peak',
      'idle p99 ms',
      'p99 of admitted',
      'of idle',
      'critical served %',
      'background served %'
    ],
    rows: found.map((one) => [
      one.name,
      fixed(one.most),
      fixed(one.goodput),
      fixed(one.goodput / one.most, 2),
      fixed(one.idle, 1),
      // null where nobody was served.
      one.p99 === null ? '' : fixed(one.p99, 1),
      one.p99 === null ? '' : fixed(one.p99 / one.idle, 1),
      fixed(100 * one.critical, 1),
      fixed(100 * one.background, 1)
    ])
  })
}

if (isChild) {
  const [part, ...args] = process.argv.slice(2)
  if (part === 'serve') await serve(...args)
  else await load(...args)
} else if (isMain(import.meta.url)) await run()
