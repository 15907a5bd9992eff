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

/*
 * µs to find the rules of a request, from its URL on: a file of as many rules as an API gateway may have, and requests of
 * which most are for some rule in it, and a tenth for none but the last.
 */

const rounds = isQuick ? 1 : 7
const times = isQuick ? 20_000 : 300_000
const sizes = [10, 100, 1000]

/** Of ten rules six are for a path, one for a route, one for a header, one for users, and one for whole parts of an API. */
function ruleOf(i, isOfRoute) {
  const limit = { limit: 10 + i, window: '1m' }
  const service = `/v1/service-${i % 97}`
  const kinds = [
    { method: 'GET', path: `${service}/items-${i}` },
    { method: 'POST', path: `${service}/items-${i}` },
    { method: ['PUT', 'PATCH'], path: `${service}/items-${i}/:id` },
    { path: `${service}/items-${i}/:id/parts/:part` },
    { method: 'DELETE', path: [`${service}/old-${i}`, `${service}/older-${i}`] },
    { path: `${service}/export-${i}`, header: { 'x-plan': ['pro', 'team'] } },
    isOfRoute ? { route: `/v1/route-${i}/:id` } : { path: `/v1/route-${i}/:id` },
    { header: { 'x-tenant': `tenant-${i}` } },
    { user: [`user-${i}`, `user-${i + 1}`] },
    { path: `/v1/part-${i}/*` }
  ]
  return { name: `rule ${i}`, match: kinds[i % kinds.length], ...limit }
}

function requestOf(i, none) {
  const service = `/v1/service-${i % 97}`
  const request = {
    method: 'GET',
    url: '',
    route: null,
    headers: { host: 'api.example' },
    user: { id: 'ada' }
  }
  const kinds = [
    { url: `${service}/items-${i}?page=2` },
    { url: `${service}/items-${i}`, method: 'POST' },
    { url: `${service}/items-${i}/7f3a`, method: 'PATCH' },
    { url: `${service}/items-${i}/7f3a/parts/2?full=1` },
    { url: `${service}/older-${i}`, method: 'DELETE' },
    { url: `${service}/export-${i}`, headers: { 'x-plan': 'pro' } },
    { url: `/v1/route-${i}/7`, route: `/v1/route-${i}/:id` },
    { url: '/other', headers: { 'x-tenant': `tenant-${i}` } },
    { url: '/other', user: { id: `user-${i}` } },
    { url: `/v1/part-${i}/a/b/c` }
  ]
  return { ...request, ...(none ? { url: `/unknown/${i}/of/none` } : kinds[i % kinds.length]) }
}

const host = {
  method: (request) => request.method,
  url: (request) => request.url,
  route: (request) => request.route,
  header: (request, name) => request.headers[name]
}
const client = { address: '192.0.2.1', standing: 'client' }

async function work(mode) {
  const { parseRules } = await headgate('rules/index.js')
  const { RequestFacts } = await headgate('http/index.js')
  const found = {}
  for (const size of sizes) {
    const rules = Array.from({ length: size - 1 }, (_, i) => ruleOf(i, true))
    rules.push({ name: 'rest', limit: 1, window: '1s' })
    const { table } = parseRules(JSON.stringify({ match: mode, rules }))
    const next = random(size - 1)
    const requests = Array.from({ length: 10_000 }, (_, i) => requestOf(next(), i % 10 === 9))
    const facts = new RequestFacts()
    let matched = 0
    const loop = () => {
      for (let i = 0; i < times; i++)
        matched += table.match(facts.of(host, requests[i % requests.length], client)).length
    }
    loop()
    found[size] = (await cpuNs(loop, times)) / 1000
    if (matched < 2 * times) throw new Error('requests without a rule')
  }
  return found
}

export async function run() {
  const modes = ['first', 'all']
  const found = await interleaved(modes, rounds, (mode) => inChild(import.meta.url, [mode]))
  const of = (mode, size) => median(found[mode].map((one) => one[size]))
  print({
    title: 'CPU µs to find the rules of a request',
    columns: ['', ...sizes.map((size) => `${size} rules`)],
    rows: modes.map((mode) => [`match: ${mode}`, ...sizes.map((size) => fixed(of(mode, size), 2))])
  })
  return modes.map((mode) => ({
    what: `µs to find a request's rules among 1000, match: ${mode}`,
    found: of(mode, 1000),
    target: 2
  }))
}

if (isChild) answer(await work(process.argv[2]))
else if (isMain(import.meta.url)) await run()
