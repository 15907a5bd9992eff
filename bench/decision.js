import { likeAnApp } from './app.js'
import { addresses, contestants, idle, own } from './contestants.js'
import {
  answer,
  cpuNs,
  fixed,
  inChild,
  interleaved,
  isChild,
  isMain,
  isQuick,
  median,
  print,
  random
} from './harness.js'

/*
 * ns a decision: one fixed window in memory, everybody admitted. Keys come as texts that are held (as the address of
 * a kept-alive connection is), and as fresh copies (as a header value is, which has no hash yet). Making the key and
 * the loop itself are measured apart and taken off.
 */

const rounds = isQuick ? 1 : 7
const roundsOfMany = isQuick ? 1 : 5
const times = isQuick ? 100_000 : 300_000
const warmUp = 150_000
const unlimited = 1_000_000_000

/** How many clients there are, by workload. A process each: what one does to the compiled code must not meet another. */
const workloads = { hot: 1, '10 k': 10_000, '1 M': isQuick ? 100_000 : 1_000_000, denied: 1 }

/** The fastest of the others. */
const rival = 'hitlimit'

const strategies = ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket', 'gcra', 'leaky-bucket']

/** The last results, so that no compiler finds that nobody wants them. */
const kept = new Array(16)

function loop(hit, keyAt, order, count) {
  for (let i = 0; i < count; i++) kept[i & 15] = hit(keyAt(order[i]))
}

async function loopAwaiting(hit, keyAt, order, count) {
  for (let i = 0; i < count; i++) kept[i & 15] = await hit(keyAt(order[i]))
}

async function nsEach(run, hit, keyAt, order) {
  await run(hit, keyAt, order, Math.min(warmUp, order.length))
  return cpuNs(() => run(hit, keyAt, order, order.length), order.length)
}

function ordered(count) {
  const next = random(count)
  return Uint32Array.from({ length: times }, next)
}

/** Each of `count` clients for the first time, then again in random order, by held and by fresh keys. */
async function visit({ make, awaits }, count, limit) {
  const run = awaits ? loopAwaiting : loop
  const { fresh } = addresses(count)
  const texts = Array.from({ length: count }, (_, i) => fresh(i))
  const held = (i) => texts[i]
  const hit = await make({ limit, keys: count })
  const first = await cpuNs(
    () =>
      run(
        hit,
        fresh,
        Uint32Array.from(texts, (_, i) => i),
        count
      ),
    count
  )
  const order = ordered(count)
  return { first, held: await nsEach(run, hit, held, order), fresh: await nsEach(run, hit, fresh, order) }
}

/** Rates at which a key owes nothing by its next visit. */
const paidBack = [10_000_000, 1_000_000_000]

async function work(workload, name) {
  if (workload === 'mixed') {
    if (name === 'in an app') await likeAnApp()
    const { held } = await visit({ make: ({ keys }) => own({ limit: 200, window: 60_000 }, keys) }, 10_000)
    return { ns: held }
  }
  if (workload.startsWith('paid back')) {
    const limit = Number(workload.slice('paid back '.length))
    const rule = { strategy: name, limit, window: 3_600_000 }
    const { held } = await visit({ make: ({ keys }) => own(rule, keys) }, 10_000)
    return { ns: held }
  }
  if (workload === 'strategy') {
    const rule = {
      strategy: name,
      limit: 200,
      window: 60_000,
      ...(name === 'leaky-bucket' ? { burst: 199 } : {})
    }
    const { held } = await visit({ make: ({ keys }) => own(rule, keys) }, 10_000)
    return { ns: held }
  }
  const contestant = name === 'idle' ? idle : contestants[name]
  const count = workloads[workload]
  const { first, held, fresh } = await visit(contestant, count, workload === 'denied' ? 1 : unlimited)
  if (workload === 'denied') return { denied: held }
  const found = { [workload]: held, [`${workload}, fresh`]: fresh }
  return workload === '1 M' ? { ...found, 'first of 1 M': first } : found
}

/** Contestant to column to the median of ns, without what idling takes, and of how many times others that is. */
async function compare() {
  const names = ['idle', ...Object.keys(contestants)]
  const found = {}
  for (const workload of Object.keys(workloads)) {
    const count = workloads[workload] > 100_000 ? roundsOfMany : rounds
    const { idle, ...all } = await interleaved(names, count, (name) =>
      inChild(import.meta.url, [workload, name])
    )
    const net = (name, column) => all[name].map((round, i) => round[column] - idle[i][column])
    for (const column of Object.keys(idle[0]))
      for (const name of Object.keys(all)) {
        const ns = net(name, column)
        const times = (other) => median(net(other, column).map((one, i) => ns[i] / one))
        found[name] ??= {}
        found[name][column] = { ns: median(ns), ratio: times('floor'), ofRival: times(rival) }
      }
  }
  return found
}

export async function run() {
  const found = await compare()
  const columns = Object.keys(found.headgate)
  print({
    title: 'CPU ns a decision, and (times the floor)',
    columns: ['', ...columns],
    rows: Object.entries(found).map(([name, row]) => [
      name,
      ...columns.map((column) => `${fixed(row[column].ns)} (${fixed(row[column].ratio, 2)})`)
    ])
  })
  const each = await interleaved(strategies, rounds, (name) => inChild(import.meta.url, ['strategy', name]))
  print({
    title: 'headgate, CPU ns a decision by strategy, 10 k keys, the loop included',
    columns: ['', 'ns'],
    rows: strategies.map((name) => [name, fixed(median(each[name].map(({ ns }) => ns)))])
  })
  const app = await ratios(
    'mixed',
    ['alone', 'in an app'],
    'a fixed window, 10 k keys, alone and beside others'
  )
  const targets = columns.map((column) => ({
    what: `decision, ${column}: times ${rival}`,
    found: found.headgate[column].ofRival,
    target: column.startsWith('1 M') ? 1 / 1.3 : 1
  }))
  targets.push({
    what: 'decision beside ten limiters, 50 limits and all adapters',
    found: app['in an app'],
    target: 1.1
  })
  for (const limit of paidBack) {
    const names = ['fixed-window', 'sliding-window', 'token-bucket', 'gcra']
    const title = `${limit.toExponential()} an hour, 10 k keys that owe nothing by their next visit`
    for (const [name, ratio] of Object.entries(await ratios(`paid back ${limit}`, names, title)))
      targets.push({
        what: `${name}, ${limit.toExponential()} an hour: times a fixed window`,
        found: ratio,
        target: 1.3
      })
  }
  return targets
}

/** Each name's time as a multiple of the first's, round by round. */
async function ratios(workload, names, title) {
  const each = await interleaved(names, rounds, (name) => inChild(import.meta.url, [workload, name]))
  const first = each[names[0]]
  const found = Object.fromEntries(
    names.map((name) => [name, median(each[name].map(({ ns }, i) => ns / first[i].ns))])
  )
  print({
    title,
    columns: ['', 'ns', 'times'],
    rows: names.map((name) => [name, fixed(median(each[name].map(({ ns }) => ns))), fixed(found[name], 2)])
  })
  return found
}

if (isChild) answer(await work(process.argv[2], process.argv[3]))
else if (isMain(import.meta.url)) await run()
