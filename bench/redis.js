import { answer, fixed, inChild, isChild, isMain, isQuick, median, print, random } from './harness.js'
import { clients, contestants } from './redis-contestants.js'
import { startRedis } from './redis-server.js'

/*
 * Decisions a second through one client and one connection, by how many are in flight: each asks again as soon as it is
 * answered. Beside it CPU time a decision of the server and of this process, which does not grow when others
 * use the machine.
 */

const rounds = isQuick ? 1 : 9
const keyCount = 10_000
const sliceMs = isQuick ? 50 : 200
const loads = [1, 64, 512]
const hotKey = '10.0.0.1'

/** Asks for about `ms` with so many in flight; how many were answered. */
async function ask(hit, nextKey, inFlight, ms) {
  const end = performance.now() + ms
  let answered = 0
  const askOn = async () => {
    while (performance.now() < end) {
      await hit(nextKey())
      answered++
    }
  }
  await Promise.all(Array.from({ length: inFlight }, askOn))
  return answered
}

async function serverCpuUs(client) {
  const info = String(await client.info('cpu'))
  const seconds = (name) => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)[1])
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6
}

/** One slice of one contestant: decisions a second, and CPU µs a decision of the server and of this process. */
async function measure({ hit, nextKey }, client, inFlight) {
  const serverBefore = await serverCpuUs(client)
  const before = process.cpuUsage()
  const start = performance.now()
  const answered = await ask(hit, nextKey, inFlight, sliceMs)
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(before)
  const server = (await serverCpuUs(client)) - serverBefore
  return { rate: answered / seconds, server: server / answered, process: (user + system) / answered }
}

/** In a child: all contestants in turn, over one connection. Load to contestant to results. */
async function work(library, port) {
  const client = await clients[library](port)
  const keys = Array.from({ length: keyCount }, (_, i) => `10.0.${i >> 8}.${i & 255}`)
  const next = random(keyCount)
  const made = {}
  for (const [name, { make, isHot, library: only = library }] of Object.entries(contestants)) {
    if (only !== library) continue
    const hit = await make(client, library)
    const nextKey = isHot ? () => hotKey : () => keys[next()]
    await ask(hit, nextKey, 64, sliceMs)
    made[name] = { hit, nextKey }
  }
  const found = loads.map(() => Object.fromEntries(Object.keys(made).map((name) => [name, []])))
  for (let round = 0; round < rounds; round++)
    for (const [i, inFlight] of loads.entries())
      for (const [name, one] of Object.entries(made))
        found[i][name].push(await measure(one, client, inFlight))
  return found
}

/** Medians of the rounds; the ratio to INCR is that of each round. */
function summary(results) {
  const each = (name, value) => median(results[name].map(value))
  return Object.fromEntries(
    Object.keys(results).map((name) => [
      name,
      {
        rate: each(name, ({ rate }) => rate),
        ratio: each(name, ({ rate }, round) => rate / results.INCR[round].rate),
        server: each(name, ({ server }) => server),
        process: each(name, (one) => one.process)
      }
    ])
  )
}

async function compare(library, port) {
  const found = (await inChild(import.meta.url, [library, port])).map(summary)
  print({
    title: `Redis through ${library}, by decisions in flight: decisions a second (times INCR), CPU µs of Redis, CPU µs here`,
    columns: ['', ...loads.flatMap((load) => [load, 'Redis', 'here'])],
    rows: Object.keys(found[0]).map((name) => [
      name,
      ...found.flatMap(({ [name]: { rate, ratio, server, process } }) => [
        `${fixed(rate)} (${fixed(ratio, 2)})`,
        fixed(server, 1),
        fixed(process, 1)
      ])
    ])
  })
  return found
}

/** What must hold, as quotients that are to be at most their target. */
function claims([single, some, many]) {
  const rivals = Object.keys(contestants).filter((name) => contestants[name].isRival)
  const best = (load) => Math.max(...rivals.map((name) => load[name].rate))
  const cheapest = (load) => Math.min(...rivals.map((name) => load[name].server))
  const claim = (what, found, target) => ({ what: `Redis, ${what}`, found, target })
  return [
    claim('1 in flight: time, times the best rival', best(single) / single.headgate.rate, 1),
    claim('1 in flight: Redis CPU, times the best rival', single.headgate.server / cheapest(single), 1),
    claim(
      '1 in flight: own strategy by compare-and-swap, time, times a built-in one',
      single.headgate.rate / single['headgate, own strategy by compare-and-swap'].rate,
      3
    ),
    claim('64 in flight: time, times INCR', 1 / some.headgate.ratio, 1 / 1.5),
    claim('512 in flight: time, times INCR', 1 / many.headgate.ratio, 1 / 2),
    claim('64 in flight: Redis CPU, times the best rival', some.headgate.server / cheapest(some), 0.5),
    claim('512 in flight: Redis CPU, times the best rival', many.headgate.server / cheapest(many), 0.5),
    claim(
      '512 in flight: three tiers, time, times one',
      many.headgate.rate / many['headgate, three tiers'].rate,
      1.3
    ),
    claim('64 in flight: lease, time, times INCR', 1 / some['headgate, a hot key, lease: 100'].ratio, 1 / 20)
  ]
}

export async function run() {
  const redis = await startRedis()
  if (redis === null) {
    console.log('\nRedis: skipped, as there is no redis-server on the PATH')
    return []
  }
  try {
    const found = await compare('ioredis', redis.port)
    await compare('redis', redis.port)
    return claims(found)
  } finally {
    await redis.stop()
  }
}

if (isChild) answer(await work(process.argv[2], Number(process.argv[3])))
else if (isMain(import.meta.url)) await run()
