import { seen } from './app.js'

const answers = {
  service: 'true',
  reports: [200, 200, 429],
  headers: ['2', '0', '2;w=86400'],
  waits: true,
  logins: [200, 200, 429],
  health: [200, 200, 200],
  unknown: [404, 429, 429],
  messages: ['received', true, true]
}

test('an application is limited on both platforms', async () => {
  expect(await seen()).toEqual({ hasOneError: true, express: answers, fastify: answers })
}, 120_000)
