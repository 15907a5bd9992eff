import express = require('express')

import { fastify } from 'fastify'
import * as headgate from 'headgate'
import expressDefault, { rateLimit } from 'headgate/express'
import fastifyDefault, { rateLimit as plugin } from 'headgate/fastify'

async function statuses(port: number): Promise<number[]> {
  const found: number[] = []
  for (let i = 0; i < 2; i++)
    found.push((await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })).status)
  return found
}

function portOf(address: unknown): number {
  return (address as { port: number }).port
}

async function ofExpress(): Promise<number[]> {
  const app = express()
  app.use(expressDefault({ limit: 1, window: '1d' }))
  app.get('/', (request, response) => void response.json(request.rateLimit?.remaining))
  const server = app.listen(0, '127.0.0.1')
  await new Promise((listening) => server.once('listening', listening))
  const found = await statuses(portOf(server.address()))
  server.close()
  return found
}

async function ofFastify(): Promise<number[]> {
  const app = fastify()
  await app.register(fastifyDefault, { limit: 1, window: '1d' })
  app.get('/', async (request) => request.rateLimit?.remaining)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const found = await statuses(portOf(app.server.address()))
  await app.close()
  return found
}

async function main(): Promise<void> {
  const limiter = headgate.createLimiter({ limit: 1, window: '1d' })
  console.log(
    JSON.stringify({
      core: [limiter.consume('a').allowed, limiter.consume('a').allowed],
      express: await ofExpress(),
      fastify: await ofFastify(),
      defaults: expressDefault === rateLimit && fastifyDefault === plugin
    })
  )
}

main()
