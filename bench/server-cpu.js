import { once } from 'node:events'
import { fixed, interleaved, isQuick, median, print, startChild } from './harness.js'
import { openClients } from './load.js'

/*
 * CPU time that a limiter adds to a request: a server each in a process of its own, kept-alive connections from this
 * one, in turns. CPU time of all threads of the server, so that neither waiting nor neighbours count.
 */

/** Each batch has servers of its own: of one program, one process may take 3 µs more for a request than another. */
const batches = isQuick ? 1 : 4
/** Many short ones: what comes and goes on a shared machine then strikes neighbours in a round alike. */
const rounds = isQuick ? 3 : 32
/** Rounds before the first that counts. */
const warmUp = isQuick ? 5 : 40
const connections = 16

/** In a child: tells the port that its server listens on, and whenever asked the CPU time used so far. */
export function serve(port) {
  process.on('message', () => process.send(process.cpuUsage()))
  process.on('disconnect', () => process.exit(0))
  process.send({ port })
}

async function start(url, args, times, status) {
  const child = startChild(url, args)
  const [{ port }] = await once(child, 'message')
  const clients = await openClients(port, connections, status)
  await clients.send(warmUp * times)
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

/**
 * Contestant to medians: CPU µs a request, what is added over bare, and that as a part of the main rival's and of what
 * is written by hand. The file at `url` is started with `argsOf(name)` for each, and `times` are the requests of a round.
 * Those of `denying` answer 429 from the second request of a client on.
 */
export async function measure({ url, names, argsOf, rival, times, denying = [] }) {
  const found = Object.fromEntries(names.map((name) => [name, []]))
  for (let batch = 0; batch < batches; batch++) {
    const servers = {}
    for (const name of names)
      servers[name] = await start(url, argsOf(name), times, denying.includes(name) ? 429 : 200)
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
    share: added(name) / added(rival),
    ofFloor: names.includes('floor') ? added(name) / added('floor') : undefined,
    ofBare: median(found[name].map((micros, i) => micros / found.bare[i]))
  }))
}

/** Prints what `measure` found, and gives our part of the main rival's. */
export function tell(title, rival, found) {
  print({
    title: `${title}: CPU µs a request`,
    columns: ['', 'total', 'of bare', 'added', 'of floor', `of ${rival}'s`],
    rows: found.map(({ name, total, ofBare, adds, ofFloor, share }) => [
      name,
      fixed(total, 1),
      fixed(ofBare, 2),
      fixed(adds, 1),
      fixed(ofFloor, 2),
      fixed(share, 2)
    ])
  })
  const own = found.find(({ name }) => name === 'headgate')
  return { ofRival: { what: `${title}: added CPU, of ${rival}'s`, found: own.share }, own }
}
