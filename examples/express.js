import express from 'express'
import { rateLimit } from 'headgate/express'

const app = express()
app.use(rateLimit({ limit: 5, window: '1m' }))
app.get('/', (_req, res) => res.send('hello\n'))
const server = app.listen(Number(process.env.PORT ?? 3000), () => console.log(server.address().port))
