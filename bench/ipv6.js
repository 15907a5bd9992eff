import {
  answer,
  cpuNs,
  fixed,
  headgate,
  inChild,
  interleaved,
  isChild,
  isMain,
  isQuick,
  median,
  print,
  random
} from './harness.js'

/* µs from the text of an address to the key of who is charged, over 10 000 addresses of each kind. */

const rounds = isQuick ? 1 : 7
const times = isQuick ? 20_000 : 200_000

const contestants = {
  headgate: async () => (await headgate()).ipKey,
  'express-rate-limit': async () => (await import('express-rate-limit')).ipKeyGenerator,
  '@fastify/rate-limit': async () => (await import('@fastify/rate-limit')).default.normalizeIP
}

const next = random(65_536)
const hex = () => next().toString(16)
const kinds = {
  IPv4: () => `${1 + (next() & 127)}.${next() & 255}.${next() & 255}.${next() & 255}`,
  mapped: () => `::ffff:${kinds.IPv4()}`,
  IPv6: () => `2001:db8:${hex()}:${hex()}:${hex()}:${hex()}:${hex()}:${hex()}`,
  'IPv6 with ::': () => `2001:db8:${hex()}:${hex()}::${hex()}`
}

async function work(name) {
  const keyOf = await contestants[name]()
  const found = {}
  for (const [kind, make] of Object.entries(kinds)) {
    const texts = Array.from({ length: 10_000 }, () => Buffer.from(make()).latin1Slice())
    let length = 0
    const loop = () => {
      for (let i = 0; i < times; i++) length += keyOf(texts[i % texts.length]).length
    }
    loop()
    found[kind] = (await cpuNs(loop, times)) / 1000
    if (length === 0) throw new Error('no keys')
  }
  return found
}

export async function run() {
  const found = await interleaved(Object.keys(contestants), rounds, (name) =>
    inChild(import.meta.url, [name])
  )
  const columns = Object.keys(kinds)
  const of = (name, column) => median(found[name].map((one) => one[column]))
  print({
    title: 'CPU µs from an address to a key',
    columns: ['', ...columns],
    rows: Object.keys(found).map((name) => [name, ...columns.map((column) => fixed(of(name, column), 2))])
  })
  const more = of('headgate', 'IPv6') - of('headgate', 'IPv4')
  return [{ what: 'µs that an IPv6 address takes more than an IPv4 one', found: more, target: 0.3 }]
}

if (isChild) answer(await work(process.argv[2]))
else if (isMain(import.meta.url)) await run()
