import { isChild, isMain, isQuick } from './harness.js'
import { measure, serve, tell } from './server-cpu.js'
import { contestantsOf, listen } from './servers.js'

/* CPU time that a limiter adds to a request of Express and of Fastify, and what a denied one takes. */

/** Requests a round; a request is six times as dear on Express. */
const times = isQuick ? { express: 1000, fastify: 2000 } : { express: 250, fastify: 750 }

/** What it may cost of what a limiter written by hand costs. */
const floors = { express: 1.1, fastify: 1.3 }

const denied = 'headgate, denied'
const inFlight = 'headgate, in flight'

/** Where a server listens: IPv4 alone, or both families, where IPv4 clients show as mapped addresses. */
const hosts = { IPv4: '127.0.0.1', mapped: '::' }

export async function run() {
  const targets = []
  for (const [framework, rival] of [
    ['express', 'express-rate-limit'],
    ['fastify', '@fastify/rate-limit']
  ])
    for (const [addresses, host] of Object.entries(hosts)) {
      // Beside mapped clients only the main rival shows anything new: it is slow for whatever has a colon.
      const names =
        addresses === 'IPv4' ? contestantsOf[framework] : ['bare', 'floor', 'headgate', denied, rival]
      const argsOf = (name) => [framework, name, host]
      const found = await measure({
        url: import.meta.url,
        names,
        argsOf,
        rival,
        times: times[framework],
        denying: [denied]
      })
      const title = `${framework}, ${addresses} clients`
      const { ofRival, own } = tell(title, rival, found)
      targets.push({ ...ofRival, target: 0.5 })
      targets.push({
        what: `${title}: added CPU, of the floor's`,
        found: own.ofFloor,
        target: floors[framework]
      })
      const one = (name) => found.find((each) => each.name === name)
      if (names.includes(inFlight))
        targets.push({
          what: `${title}: added CPU of a limit in flight, of a window's`,
          found: one(inFlight).adds / one('headgate').adds,
          target: 1.3
        })
      const { ofBare } = one(denied)
      targets.push({ what: `${title}: a denied request, of a bare one`, found: ofBare, target: 1 })
    }
  return targets
}

if (isChild) serve(await listen(...process.argv.slice(2)))
else if (isMain(import.meta.url)) await run()
