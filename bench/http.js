import { once } from 'node:events'
import { fixed, interleaved, isChild, isMain, isQuick, median, print, startChild } from './harness.js'
import { openClients } from './load.js'
import { contestantsOf, listen } from './servers.js'

/*
 * CPU time that a limiter adds to a request: a server each in a process of its own, kept-alive connections from this
 * one, in turns. CPU time of all threads of the server, so that neither waiting nor neighbours count.
 */

/** Each batch has servers of its own: of one program, one process may take 3 µs more for a request than another. */
const batches = isQuick ? 1 : 4
const rounds = isQuick ? 3 : 4
/** Requests a round; a request is six times as dear on Express. */
const times = isQuick ? { express: 1000, fastify: 2000 } : { express: 2000, fastify: 6000 }
/** Rounds before the first that counts. */
const warmUp = 5
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
  await clients.send(warmUp * times[framework])
  const cpuMicros = async () => {
    child.send('cpu')
    const [{ user, system }] = await once(child, 'message')
    return user + system
  }
  return {
    async microsEach() {
      const before = await cpuMicros()
      await clients.send(times[framework])
      return ((await cpuMicros()) - before) / times[framework]
    },
    stop() {
      clients.close()
      child.disconnect()
    }
  }
}

/** Contestant to medians: CPU µs a request, what is added over bare, and that as a part of the main rival's. */
async function measure(framework, host, rival, names) {
  const found = Object.fromEntries(names.map((name) => [name, []]))
  for (let batch = 0; batch < batches; batch++) {
    const servers = {}
    for (const name of names) servers[name] = await start(framework, name, host)
    const more = await interleaved(names, rounds, (name) => servers[name].microsEach())
    for (const name of names) {
      found[name].push(...more[name])
      servers[name].stop()
    }
  }
  const added = (name) => median(found[name].map((micros, i) => micros - found.bare[i]))
  return names.map((name) => ({
    name,
    total: median(found[name]),
    adds: added(name),
    share: added(name) / added(rival)
  }))
}

export async function run() {
  const targets = []
  for (const [framework, rival] of [
    ['express', 'express-rate-limit'],
    ['fastify', '@fastify/rate-limit']
  ])
    for (const [addresses, host] of Object.entries(hosts)) {
      // Beside mapped clients only the main rival shows anything new: it is slow for whatever has a colon.
      const names = addresses === 'IPv4' ? contestantsOf[framework] : ['bare', 'floor', 'headgate', rival]
      const found = await measure(framework, host, rival, names)
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
