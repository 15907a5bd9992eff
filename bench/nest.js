import { isChild, isMain, isQuick } from './harness.js'
import { listen, names } from './nest-servers.js'
import { measure, serve, tell } from './server-cpu.js'

/* CPU time that a limiter adds to a request of Nest, over both platforms. */

const rival = '@nestjs/throttler'
/** Requests a round. */
const times = isQuick ? { express: 1000, fastify: 2000 } : { express: 250, fastify: 500 }

export async function run() {
  const targets = []
  for (const platform of ['express', 'fastify']) {
    const argsOf = (name) => [platform, name]
    const found = await measure({ url: import.meta.url, names, argsOf, rival, times: times[platform] })
    targets.push({ ...tell(`Nest over ${platform}`, rival, found).ofRival, target: 1 / 3 })
  }
  return targets
}

if (isChild) serve(await listen(...process.argv.slice(2)))
else if (isMain(import.meta.url)) await run()
