import Fastify from 'fastify'
import rateLimit from 'headgate/fastify'

const app = Fastify()
await app.register(rateLimit, { limit: 5, window: '1m' })
app.get('/', async () => 'hello\n')
app.get('/own', { limit: { limit: 1, window: '1s', strategy: 'gcra' } }, async () => 'own\n')
app.get('/off', { limit: false }, async () => 'off\n')
await app.listen({ port: Number(process.env.PORT ?? 3000) })
