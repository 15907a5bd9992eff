import { rateLimit } from 'headgate/express'

rateLimit({ limit: 5, windw: '1m' }) // wrong
rateLimit({ limit: 5, window: '1m', kye: 'ip' }) // wrong
rateLimit({ limit: '5', window: '1m' }) // wrong
rateLimit({ limit: 5, window: '1m', store: {} }) // wrong
rateLimit({ limits: [{ limit: 1, window: '1m', brust: 2 }] }) // wrong
rateLimit({ limit: 5, window: '1m' })
