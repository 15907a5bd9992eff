import { readFileSync } from 'node:fs'
import { Controller, Get } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import Fastify from 'fastify'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { rateLimit as express } from '../../src/express/index.js'
import { rateLimit as fastify } from '../../src/fastify/index.js'
import { createLimiter, type HeadgateError, Limit, limitsOf, memoryStore } from '../../src/index.js'
import { Limit as NestLimit, RateLimitModule } from '../../src/nest/index.js'
import { redisStore } from '../../src/redis/index.js'
import { remoteStore } from '../../src/remote/index.js'
import { sharedStore } from '../../src/shared/index.js'

/** The options of other limiters, and what an HTTP limiter says to each. `=` has the same meaning here. */
const others: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  // 8.7.5
  'express-rate-limit': {
    windowMs: '`window`',
    limit: '=',
    max: '`limit`',
    message: '=',
    statusCode: '=',
    legacyHeaders: '`headers`',
    standardHeaders: '`headers`',
    headers: '=',
    identifier: '`name`',
    retryAfter: '`retryAfterFormat`',
    requestPropertyName: '`request.rateLimit`',
    skipFailedRequests: '`countOnly`',
    skipSuccessfulRequests: '`countOnly`',
    requestWasSuccessful: '`countOnly`',
    keyGenerator: '`key`',
    ipv6Subnet: '=',
    handler: '`onLimited`',
    onLimitReached: '`onLimited`',
    skip: '=',
    store: '=',
    validate: 'always checked',
    passOnStoreError: '`onStoreError`',
    logger: '`process.on`'
  },
  // 11.2.0
  '@fastify/rate-limit': {
    global: 'leave `limit` and `window` out',
    max: '`limit`',
    timeWindow: '`window`',
    ban: '=',
    onBanReach: '`ban: {',
    cache: '`maxKeys`',
    hook: '`hook`|headgate/nest|the Fastify plugin',
    allowList: '`allow`',
    redis: '`store`',
    nameSpace: '`prefix`',
    continueExceeding: '`countDenied`',
    skipOnError: '`onStoreError`',
    keyGenerator: '`key`',
    errorResponseBuilder: '`onLimited`',
    enableDraftSpec: '`headers`',
    addHeaders: '`headers`',
    addHeadersOnExceeding: '`headers`',
    onExceeding: '`request.rateLimit`',
    onExceeded: '`onLimited`',
    exponentialBackoff: '`ban: {',
    groupId: '`policies`',
    store: '=',
    ipv6Subnet: '='
  },
  // 11.4.0
  'rate-limiter-flexible': {
    points: '`limit`',
    duration: '`window`',
    keyPrefix: '`name`',
    blockDuration: '`block`',
    execEvenly: "'leaky-bucket'",
    execEvenlyMinDelayMs: "'leaky-bucket'",
    insuranceLimiter: '`onStoreError`',
    timeoutMs: '`deadline`',
    storeClient: '`store`',
    storeType: 'remoteStore',
    dbName: 'remoteStore',
    tableName: 'remoteStore',
    tableCreated: 'remoteStore',
    schema: 'remoteStore',
    schemaName: 'remoteStore',
    indexKeyPrefix: 'remoteStore',
    disableIndexesCreation: 'remoteStore',
    clearExpiredByTimeout: 'without a timer',
    inMemoryBlockOnConsumed: '`denyCache`',
    inmemoryBlockOnConsumed: '`denyCache`',
    inMemoryBlockDuration: '`block`',
    blockOnConsumed: '`denyCache`',
    rejectIfRedisNotReady: '`onStoreError`',
    rejectIfValkeyNotReady: '`onStoreError`',
    useRedisPackage: 'Lua',
    useRedis3AndLowerPackage: 'Lua',
    customIncrTtlLuaScript: 'Lua',
    blackList: '`deny`',
    whiteList: '`allow`',
    isBlackListed: '`deny`',
    isWhiteListed: '`allow`'
  },
  'express-slow-down': {
    delayAfter: '`delayAfter` is a symbol',
    delayMs: '`delay: { after: 5, step',
    maxDelayMs: '`delay: { after: 5, step',
    validate: '`process.on`',
    requestPropertyName: '`request.rateLimit`'
  },
  '@nestjs/throttler': {
    throttlers: '`limits`',
    name: '=',
    limit: '=',
    ttl: '`window`',
    blockDuration: '`block`',
    ignoreUserAgents: '`skip`',
    skipIf: '`skip`',
    getTracker: '`key`',
    generateKey: '`scope`',
    setHeaders: '`headers`',
    errorMessage: '`message`',
    storage: '`store`',
    ipv6SubnetPrefix: '`ipv6Subnet`',
    default: '`limits`'
  },
  'limit_req and limit_conn of nginx': {
    zone: '`name`',
    rate: '`limit`',
    burst: '=',
    delay: '`delayAfter`',
    nodelay: '`delayAfter` as large as its `burst`',
    limit_req: 'those routes',
    limit_req_zone: 'those routes',
    limit_req_status: '`statusCode`',
    limit_req_log_level: '`process.on`',
    limit_req_dry_run: '`shadow`',
    limit_conn: '`concurrency`',
    limit_conn_zone: '`concurrency`',
    limit_conn_status: '`statusCode`',
    limit_conn_log_level: '`process.on`',
    limit_conn_dry_run: '`shadow`'
  },
  Envoy: {
    stat_prefix: '`name`',
    status: '`statusCode`',
    max_tokens: '`burst`',
    tokens_per_fill: '`limit`',
    fill_interval: '`window`',
    filter_enabled: '`shadow: true`',
    filter_enforced: '`shadow: true`',
    enable_x_ratelimit_headers: '`headers`',
    disable_x_envoy_ratelimited_header: '`headers`',
    max_dynamic_descriptors: '`maxKeys`',
    rate_limits: '`limits`',
    descriptors: '`limits`',
    domain: '`prefix`',
    timeout: '`deadline`',
    failure_mode_deny: '`onStoreError`',
    rate_limited_status: '`statusCode`',
    status_on_error: '`onStoreError`',
    hits_addend: '`cost`',
    unit: '`window`',
    requests_per_unit: '`limit`',
    unlimited: '`skip`',
    shadow_mode: '`shadow`'
  },
  'what others say': {
    capacity: '`burst`',
    refillRate: '`limit` units in each `window`',
    maxRequests: '`limit`',
    windowSizeSeconds: '`window`',
    windowSeconds: '`window`',
    interval: '`window`',
    period: '`window`',
    tokensPerInterval: '`limit`',
    bucketSize: '`burst`',
    requestsPerSecond: "'1s'",
    maxKeys: 'memoryStore',
    maxBytes: 'sharedStore',
    failOpen: '`onStoreError`',
    maxConcurrent: '`concurrency`',
    delayMs: "'leaky-bucket'",
    step: '`delay`',
    algorithm: '`strategy`',
    type: '`strategy`',
    weight: '`cost`',
    whitelist: '`allow`',
    blocklist: '`deny`',
    dryRun: '`shadow`',
    trustProxy: '`trust proxy`',
    deadline: 'redisStore',
    enabled: '`skip`'
  }
}

const rule = { limit: 10, window: '1m' }

const cases = Object.entries(others).flatMap(([limiter, options]) =>
  Object.entries(options).map(([name, said]) => [limiter, name, said] as const)
)

describe.each(cases)('of %s: %s', (_limiter, name, said) => {
  it(`has the same meaning, or is told of: ${said}`, () => {
    const message = refusalOf(() => express({ ...rule, [name]: name === 'name' ? 'api' : hostile } as never))
    expect(message).not.toContain('known are')
    if (said === '=') expect(message).not.toContain('is no option of')
    else expect(message).toMatch(new RegExp(said.replace(/[`.()]/g, '\\$&')))
  })
})

describe('the list of others', () => {
  it('has all that @nestjs/throttler takes', () => {
    const path = new URL(
      '../../node_modules/@nestjs/throttler/dist/throttler-module-options.interface.d.ts',
      import.meta.url
    )
    const file = ts.createSourceFile('options.d.ts', readFileSync(path, 'utf8'), ts.ScriptTarget.Latest)
    const names = new Set<string>()
    const visit = (node: ts.Node): void => {
      if (ts.isInterfaceDeclaration(node) && node.name.text !== 'ThrottlerOptions') return
      if (ts.isPropertySignature(node)) names.add(node.name.getText(file))
      ts.forEachChild(node, visit)
    }
    visit(file)
    expect(names.size).toBeGreaterThan(10)
    expect([...names].filter((name) => !(name in others['@nestjs/throttler']!))).toEqual([])
  })
})

describe('an option of another limiter', () => {
  const foreign = { ...rule, windowMs: 1000 } as never
  const store = (make: (options: never) => unknown) => () => make({ windowMs: 1000 } as never)
  const plugin = (options: object) => () => Fastify().register(fastify, options as never)
  const module = (options: object) => () =>
    Test.createTestingModule({ imports: [RateLimitModule.forRoot(options as never)] }).compile()

  it.each<[string, () => unknown]>([
    ['createLimiter', () => createLimiter(foreign)],
    ['a tier', () => createLimiter({ limits: [foreign] })],
    ['Express', () => express(foreign)],
    ['the Fastify plugin', plugin(foreign)],
    ['a policy of the Fastify plugin', plugin({ policies: { login: foreign } })],
    [
      'a Fastify route',
      async () => {
        const app = Fastify()
        await app.register(fastify, rule as never)
        app.get('/', { limit: foreign }, async () => '')
        await app.ready()
      }
    ],
    ['the NestJS module', module(foreign)],
    ['a policy of the NestJS module', module({ policies: { login: foreign } })],
    [
      'a NestJS handler',
      async () => {
        class Cats {
          list() {}
        }
        NestLimit(foreign)(Cats.prototype, 'list', Object.getOwnPropertyDescriptor(Cats.prototype, 'list')!)
        Get()(Cats.prototype, 'list', Object.getOwnPropertyDescriptor(Cats.prototype, 'list')!)
        Controller()(Cats)
        const imports = [RateLimitModule.forRoot(rule as never)]
        const app = (
          await Test.createTestingModule({ imports, controllers: [Cats] }).compile()
        ).createNestApplication()
        await app.init()
      }
    ],
    [
      'a plain class',
      () => {
        class Cats {
          list() {}
        }
        Limit(foreign)(Cats.prototype, 'list', Object.getOwnPropertyDescriptor(Cats.prototype, 'list')!)
        limitsOf(Cats, express as never)
      }
    ]
  ])('is told of at %s', async (_where, make) => {
    await expect(Promise.resolve().then(make)).rejects.toMatchObject({
      code: 'HEADGATE_UNKNOWN_OPTION',
      message: expect.stringMatching(/^`windowMs` is no option of .*: did you mean `window`\? A number is ms/)
    })
  })

  it.each<[string, () => unknown]>([
    ['memoryStore', store(memoryStore)],
    ['sharedStore', store(sharedStore)],
    ['redisStore', store((options) => redisStore(async () => null, options))],
    ['remoteStore', store((options) => remoteStore({} as never, options))]
  ])('of the limit is sent from %s to the limiter', (_where, make) => {
    expect(refusalOf(make)).toContain('it is `window`, an option of a limiter.')
  })

  it('is sent where it stands, also if it is our own', () => {
    const message = (options: object) => refusalOf(() => createLimiter({ ...rule, ...options } as never))
    expect(message({ key: 'user' })).toMatch(/HTTP requests; `consume\(key, cost\)`/)
    expect(message({ getTracker: 1 })).toMatch(/it is `key`, an option of limiters of HTTP requests/)
    expect(message({ prefix: 'x' })).toContain('`redisStore`')
    expect(message({ policies: {} })).toContain('the Fastify plugin')
    const inside = refusalOf(() => express({ limits: [{ ...rule, skip: () => true }] } as never))
    expect(inside).toContain('`skip` is no option of a policy: it is an option of limiters of HTTP requests')
    const apart = refusalOf(() => createLimiter({ limits: [{ ...rule, key: 'user' }] } as never))
    expect(apart).toContain('`key` is no option of a policy: it is an option of limiters of HTTP requests')
    expect(refusalOf(() => redisStore(async () => null, { keyPrefix: 'x' } as never))).toContain('`prefix`')
  })

  it('has its words in any case, and with any joints', () => {
    for (const name of ['max_requests', 'MAX_REQUESTS', 'maxrequests', 'max-requests'])
      expect(
        refusalOf(() => createLimiter({ ...rule, [name]: 1 } as never)),
        name
      ).toContain('`limit`')
  })
})

describe('names that nobody uses', () => {
  it('have the list of those that are known once, and no hint that is wrong', () => {
    const message = refusalOf(() => express({ ...rule, zzzzzz: 1, yyyyyy: 2, limt: 3, xxxxxx: 4 } as never))
    expect(message.match(/known are/g)).toHaveLength(1)
    expect(message.split('\n')).toEqual([
      expect.stringMatching(/^`zzzzzz` is no option of rateLimit: known are `limit`|known are `name`/),
      '`yyyyyy` is no option of rateLimit.',
      '`limt` is no option of rateLimit: did you mean `limit`?',
      '`xxxxxx` is no option of rateLimit.'
    ])
  })

  it.each(['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__proto__'])('%s is one', (name) => {
    const options = JSON.parse(`{"limit":10,"window":"1m","${name}":5}`)
    expect(refusalOf(() => express(options))).toContain('known are')
  })

  it('have no hint that differs by more than a slip', () => {
    for (const name of ['bend', 'lint2', 'nope', 'decade', 'clip'])
      expect(
        refusalOf(() => express({ ...rule, [name]: 1 } as never)),
        name
      ).not.toContain('did you mean')
  })
})

/** What no option takes, and none of these limiters looks into. */
const hostile = Symbol('hostile')

function refusalOf(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    expect((error as HeadgateError).code).toMatch(/^HEADGATE_(UNKNOWN|BAD)_OPTION$/)
    return (error as Error).message
  }
  return ''
}
