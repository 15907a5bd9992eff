import express from 'express'
import { rateLimit } from 'headgate/express'

const app = express()
app.set('trust proxy', 'loopback')
app.use(express.urlencoded({ extended: false }))

// Stands in for your accounts.
const passwords = new Map([
  ['ada', 'secret'],
  ['bob', 'hunter2']
])

// Who guesses the passwords of many accounts: by address, longer on each repeat. Only failed logins stay counted.
const byAddress = rateLimit({
  name: 'login-address',
  limit: 5,
  window: '15m',
  countOnly: 'failures',
  ban: { after: 3, within: '1h', for: '1h', growth: 2, max: '7d', forget: '30d' }
})

// Whose password is guessed from many addresses: by account. Not for long, or anybody could lock out anybody.
const byAccount = rateLimit({
  name: 'login-account',
  limit: 3,
  window: '15m',
  key: (request) => request.params.account,
  countOnly: 'failures',
  ban: { after: 2, within: '15m', for: '30m' }
})

app.post('/login/:account', byAddress, byAccount, (request, response) => {
  const isRight = passwords.get(request.params.account) === request.body?.password
  response.status(isRight ? 200 : 401).send(isRight ? 'welcome\n' : 'wrong\n')
})

// For your staff alone: who is banned, and an end of it.
const isStaff = (request, response, next) =>
  request.get('authorization') === 'Bearer staff' ? next() : response.sendStatus(403)
app.get('/bans', isStaff, (_request, response) =>
  response.json({ addresses: byAddress.limiter.bans().bans, accounts: byAccount.limiter.bans().bans })
)
app.post('/unban/:account', isStaff, (request, response) => {
  byAccount.limiter.reset(request.params.account)
  response.sendStatus(204)
})

const port = process.env.PORT ?? 3000
const server = app.listen(Number(port), '127.0.0.1', (error) => {
  if (error) {
    console.error(`Cannot listen on port ${port}, set PORT to another one: ${error.message}`)
    process.exit(1)
  }
  const url = `http://127.0.0.1:${server.address().port}`
  console.log(`Listening on ${url}. Try, with what each line answers:

curl -i -H 'X-Forwarded-For: 203.0.113.1' -d 'password=secret' '${url}/login/ada?try=[1-9]'  # 200, 200, 200, 200, 200, 200, 200, 200, 200
curl -i -H 'X-Forwarded-For: 203.0.113.2' -d 'password=guess' '${url}/login/bob?try=[1-5]'  # 401, 401, 401, 429, 429 with Retry-After: 1800
curl -i -H 'X-Forwarded-For: 203.0.113.3' -d 'password=hunter2' ${url}/login/bob  # 429 with Retry-After
curl -i -H 'X-Forwarded-For: 203.0.113.4' -d 'password=guess' '${url}/login/user-[1-8]'  # 401, 401, 401, 401, 401, 429, 429, 429 with Retry-After: 3600
curl -i -H 'X-Forwarded-For: 203.0.113.4' -d 'password=secret' ${url}/login/ada  # 429 with Retry-After
curl -i ${url}/bans  # 403
curl -i -H 'Authorization: Bearer staff' ${url}/bans  # 200 without Retry-After
curl -i -X POST -H 'Authorization: Bearer staff' ${url}/unban/bob  # 204
curl -i -H 'X-Forwarded-For: 203.0.113.3' -d 'password=hunter2' ${url}/login/bob  # 200 without Retry-After
`)
})
