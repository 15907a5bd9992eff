import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { Limit, limitsOf } from 'headgate'
import rateLimit from 'headgate/fastify'

type Planned = FastifyRequest<{ Querystring: { plan: string } }>

let clock = 0

@Limit({ limit: 3, window: '1h', now: () => clock })
class Reports {
  readonly title = 'reports'

  list(_request: FastifyRequest, _reply: FastifyReply) {
    return this.title
  }

  search(_request: FastifyRequest, _reply: FastifyReply) {
    return this.title
  }

  @Limit('ip', 2, '1h')
  create(_request: FastifyRequest, reply: FastifyReply) {
    return reply.send(this.title)
  }

  @Limit({ limit: 1 })
  remove() {
    return this.title
  }

  @Limit({ limit: 3, window: '1h' })
  @Limit({ limit: 2, window: '1s' })
  export() {
    return this.title
  }

  @Limit({ limit: 1, key: (request: Planned) => request.query.plan })
  plan() {
    return this.title
  }

  @Limit.skip()
  health() {
    return this.title
  }
}

const methods = ['list', 'search', 'create', 'remove', 'export', 'plan', 'health'] as const

async function main() {
  const app = Fastify()
  await app.register(rateLimit)
  const reports = new Reports()
  const limits = limitsOf(reports, app.limit)
  for (const method of methods)
    app.get(`/${method}`, { onRequest: limits[method] }, async (request, reply) =>
      reports[method](request, reply)
    )

  const statuses = async (...paths: string[]) => {
    const seen: number[] = []
    for (const path of paths) seen.push((await app.inject(`/${path}`)).statusCode)
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
  await app.close()
}

void main()
