import {
  answer,
  fixed,
  headgate,
  inChild,
  interleaved,
  isChild,
  isMain,
  isQuick,
  median,
  print
} from './harness.js'

/* What importing a limiter adds to a process that has its framework: ms until it is there, and resident memory. */

const rounds = isQuick ? 1 : 7

const contestants = {
  'headgate/express': ['express', () => headgate('express/index.js')],
  'express-rate-limit': ['express', () => import('express-rate-limit')],
  'hitlimit (Express)': ['express', () => import('@joint-ops/hitlimit')],
  'headgate/fastify': ['fastify', () => headgate('fastify/index.js')],
  '@fastify/rate-limit': ['fastify', () => import('@fastify/rate-limit')],
  'hitlimit (Fastify)': ['fastify', () => import('@joint-ops/hitlimit/fastify')],
  headgate: [null, () => headgate()],
  'rate-limiter-flexible': [null, () => import('rate-limiter-flexible')]
}

async function work(name) {
  const [framework, load] = contestants[name]
  if (framework !== null) await import(framework)
  globalThis.gc()
  const rss = process.memoryUsage.rss()
  const start = performance.now()
  await load()
  return { ms: performance.now() - start, kb: (process.memoryUsage.rss() - rss) / 1024 }
}

export async function run() {
  const names = Object.keys(contestants)
  const found = await interleaved(names, rounds, (name) => inChild(import.meta.url, [name], ['--expose-gc']))
  print({
    title: 'what an import adds to its framework',
    columns: ['', 'ms', 'kB resident'],
    rows: names.map((name) => [
      name,
      fixed(median(found[name].map(({ ms }) => ms)), 1),
      fixed(median(found[name].map(({ kb }) => kb)))
    ])
  })
  return []
}

if (isChild) answer(await work(process.argv[2]))
else if (isMain(import.meta.url)) await run()
