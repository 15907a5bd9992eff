import type { AddressInfo } from 'node:net'
import express, { type Request, type Response } from 'express'
import { Limit, limitsOf } from 'headgate'
import { rateLimit } from 'headgate/express'

let clock = 0

@Limit({ limit: 3, window: '1h', now: () => clock })
class Reports {
  readonly title = 'reports'

  list(_request: Request, response: Response) {
    response.send(this.title)
  }

  search(_request: Request, response: Response) {
    response.send(this.title)
  }

  @Limit('ip', 2, '1h')
  create(_request: Request, response: Response) {
    response.send(this.title)
  }

  @Limit({ limit: 1 })
  remove(_request: Request, response: Response) {
    response.send(this.title)
  }

  @Limit({ limit: 3, window: '1h' })
  @Limit({ limit: 2, window: '1s' })
  export(_request: Request, response: Response) {
    response.send(this.title)
  }

  @Limit({ limit: 1, key: (request: Request) => String(request.query.plan) })
  plan(_request: Request, response: Response) {
    response.send(this.title)
  }

  @Limit.skip()
  health(_request: Request, response: Response) {
    response.send(this.title)
  }
}

const app = express()
const reports = new Reports()
const limits = limitsOf(reports, rateLimit)

const methods = ['list', 'search', 'create', 'remove', 'export', 'plan', 'health'] as const
for (const method of methods)
  app.get(`/${method}`, ...limits[method], (request, response) => reports[method](request, response))

async function main() {
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const statuses = async (...paths: string[]) => {
    const seen: number[] = []
    for (const path of paths) seen.push((await fetch(`http://127.0.0.1:${port}/${path}`)).status)
    return seen
  }
  const seen = {
    shared: await statuses('list', 'search', 'list', 'search', 'list'),
    own: await statuses('create', 'create', 'create'),
    inherited: await statuses('remove', 'remove'),
    key: await statuses('plan?plan=a', 'plan?plan=a', 'plan?plan=b'),
    skipped: await statuses('health', 'health', 'health', 'health'),
    tiers: await statuses('export', 'export', 'export', 'export')
  }
  clock = 1000
  console.log(JSON.stringify({ ...seen, later: await statuses('export', 'export') }))
  server.close()
  server.closeAllConnections()
}

void main()
