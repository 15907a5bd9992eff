import 'reflect-metadata'
import { ConfigService } from '@nestjs/config'
import { NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import { WsAdapter } from '@nestjs/platform-ws'
import { AppModule } from './app.module.js'
import { Tokens } from './tokens.js'

const app = await NestFactory.create<NestExpressApplication>(AppModule, { logger: ['warn', 'error'] })
app.set('trust proxy', 'loopback')
app.useWebSocketAdapter(new WsAdapter(app))
app.enableShutdownHooks()
const port = app.get(ConfigService).get('PORT', 3000)
try {
  await app.listen(port, '127.0.0.1')
} catch (error) {
  console.error(`Cannot listen on port ${port}, set PORT to another one: ${(error as Error).message}`)
  process.exit(1)
}

const tokens = app.get(Tokens)
const ada = `-H 'Authorization: Bearer ${tokens.sign({ id: 'ada' })}'`
const bob = `-H 'Authorization: Bearer ${tokens.sign({ id: 'bob' })}'`
const admin = `-H 'Authorization: Bearer ${tokens.sign({ id: 'grace', isAdmin: true })}'`
const url = (await app.getUrl()).replace('[::1]', '127.0.0.1')
console.log(`Listening on ${url}. Try, with what each line answers:

curl -i ${ada} ${url}/accounts/me  # 200 with RateLimit-Policy: 100;w=60
curl -i -d 'account=ada&password=guess' '${url}/accounts/login?try=[1-3]'  # 401, 401, 429 with Retry-After
curl -i -X POST ${ada} ${url}/accounts/ada/unlock  # 403
curl -i -X POST ${admin} ${url}/accounts/ada/unlock  # 204
curl -i -d 'account=ada&password=analytical engine' ${url}/accounts/login  # 200 without Retry-After
curl -i -X POST ${ada} '${url}/accounts/me/picture?try=[1-2]'  # 201, 429 with Retry-After
curl -i -X POST ${bob} ${url}/accounts/me/picture  # 201 without Retry-After
curl -i -H 'X-Api-Key: blue' '${url}/reports?try=[1-3]'  # 200, 200, 429 with RateLimit-Remaining: 0
curl -i -H 'X-Api-Key: green' ${url}/reports  # 200 with RateLimit-Remaining: 1
curl -i -H 'X-Api-Key: green' '${url}/reports/search?try=[1-3]'  # 200, 200, 429 with RateLimit-Policy: 3;w=900, 2;w=60, 50;w=86400
curl -i -H 'X-Api-Key: red' '${url}/reports?try=[1-4]'  # 401, 401, 401, 429 with Retry-After
curl -i ${ada} -H 'X-Forwarded-For: 203.0.113.7' ${url}/accounts/me  # 200 without RateLimit-Limit
curl -i ${url}/nowhere  # 404 with RateLimit-Limit: 100
curl -i ${url}/health  # 200 without RateLimit-Limit
node examples/nest/dist/say.js ${url.replace('http', 'ws')}/chat one two three  # said, said, exception
`)
