import { once } from 'node:events'
import { fixed, interleaved, isChild, isMain, isQuick, median, print, startChild } from './harness.js'
import { openClients } from './load.js'
import { contestantsOf, listen } from './servers.js'

/*
 * CPU time that a limiter adds to a request: a server each in a process of its own, kept-alive connections from this
 * one, in turns. CPU time of all threads of the server, so that neither waiting nor neighbours count.
 */

const rounds = isQuick ? 3 : 9
const times = isQuick ? 1000 : 3000
const warmUp = 15_000
const connections = 16

/** Where a server listens: IPv4 alone, or both families, where IPv4 clients show as mapped addresses. */
const hosts = { IPv4: '127.0.0.1', mapped: '::' }

async function serve(framework, contestant, host) {
  const port = await listen(framework, contestant, host)
  process.on('message', () => process.send(process.cpuUsage()))
  process.on('disconnect', () => process.exit(0))
  process.send({ port })
}

async function start(framework, contestant, host) {
  const child = startChild(import.meta.url, [framework, contestant, host])
  const [{ port }] = await once(child, 'message')
  const clients = await openClients(port, connections)
  await clients.send(warmUp)
  const cpuMicros = async () => {
    child.send('cpu')
    const [{ user, system }] = await once(child, 'message')
    return user + system
  }
  return {
    async microsEach() {
      const before = await cpuMicros()
      await clients.send(times)
      return ((await cpuMicros()) - before) / times
    },
    stop() {
      clients.close()
      child.disconnect()
    }
  }
}

/** Contestant to medians: CPU µs a request, what is added over bare, and that as a part of the main rival's. */
async function measure(framework, host, rival) {
  const names = contestantsOf[framework]
  const servers = {}
  for (const name of names) servers[name] = await start(framework, name, host)
  const found = await interleaved(names, rounds, (name) => servers[name].microsEach())
  for (const name of names) servers[name].stop()
  const added = (name) => found[name].map((micros, i) => micros - found.bare[i])
  const rivalAdds = median(added(rival))
  return names.map((name) => {
    const adds = median(added(name))
    return { name, total: median(found[name]), adds, share: adds / rivalAdds }
  })
}

export async function run() {
  const targets = []
  for (const [framework, rival] of [
    ['express', 'express-rate-limit'],
    ['fastify', '@fastify/rate-limit']
  ])
    for (const [addresses, host] of Object.entries(hosts)) {
      const found = await measure(framework, host, rival)
      print({
        title: `${framework}, ${addresses} clients: CPU µs a request`,
        columns: ['', 'total', 'added', `of ${rival}'s`],
        rows: found.map(({ name, total, adds, share }) => [
          name,
          fixed(total, 1),
          fixed(adds, 1),
          fixed(share, 2)
        ])
      })
      targets.push({
        what: `${framework}, ${addresses} clients: added CPU, of ${rival}'s`,
        found: found.find(({ name }) => name === 'headgate').share,
        target: 0.6
      })
    }
  return targets
}

if (isChild) await serve(...process.argv.slice(2))
else if (isMain(import.meta.url)) await run()
