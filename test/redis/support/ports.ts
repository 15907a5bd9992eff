import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** A cluster node talks to the others on this much more than its port. */
export const busOffset = 10_000

/** Below what Linux gives to outgoing connections, so that a server that is down keeps its port, its bus too. */
const range = [12_000, 22_000] as const
const given = new Set<number>()

/** A free port of the loopback, free for the bus of a cluster too. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...range)
    if (given.has(port)) continue
    given.add(port)
    if ((await isFree(port)) && (await isFree(port + busOffset))) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const server = createServer()
    server.once('error', () => answer(false))
    server.listen(port, '127.0.0.1', () => server.close(() => answer(true)))
  })
}
