/*
 * What other limiters call an option, and what their users type first: of express-rate-limit, express-slow-down, @fastify/rate-limit,
 * @nestjs/throttler, rate-limiter-flexible, nginx, Envoy, and of limiters in general. And where an option of headgate
 * stands that was written in another place. Case, `_` and `-` make no difference.
 */

/** Other names, by the option that means the same. */
const renamed: Readonly<Record<string, string>> = {
  limit:
    'max maximum points total requests rate maxRequests maxHits maxCalls maxAttempts attempts allowedRequests requestLimit rateLimit quota threshold requestsPerUnit tokensPerInterval tokensPerFill refillAmount reservoir',
  window:
    'windowMs windowSec windowSeconds windowSize windowSizeSeconds windowSizeInSeconds windowSizeMs windowInSeconds windowLength windowDuration timeWindow timeFrame timeSpan duration durationMs durationSeconds ttl interval intervalMs refillInterval fillInterval refillPeriod period per expire expiry expiresIn reservoirRefreshInterval',
  burst:
    'capacity tokenBucket bucketSize bucketCapacity burstSize burstCapacity burstLimit maxBurst maxTokens tokens',
  concurrency:
    'maxConcurrent maxConcurrency concurrent concurrentLimit concurrencyLimit limitConn limitConnZone maxConnections inFlight maxInFlight parallel maxPending permits permitLimit',
  queue: 'maxQueue queueSize queueLimit highWater maxQueued',
  maxWait: 'wait queueTimeout waitTimeout maxQueueTime maxWaitMs',
  strategy: 'algorithm limiterType strategyName',
  name: 'identifier keyPrefix id policyName limiterName statPrefix zone',
  limits: 'throttlers tiers rules rateLimits windows policyList descriptors',
  store: 'storage datastore backend database db driver redis redisClient storeClient client connection',
  now: 'clock getNow currentTime timeSource dateNow',
  countDenied: 'continueExceeding countRejected countBlocked penalizeDenied extendOnDenied',
  block:
    'blockDuration blockFor blockTime lockout lockoutDuration lockDuration penaltyDuration penaltyTime cooldownPeriod inMemoryBlockDuration',
  key: 'keyGenerator keyFn keyFunction getKey getTracker tracker keyBy by keys identify identifierFn groupBy',
  cost: 'weight consume pointsToConsume requestCost hitsAddend',
  skip: 'skipIf skipWhen ignoreUserAgents bypass exclude excluding ignore when unless',
  allow: 'allowList whiteList trusted safeList isWhiteListed',
  deny: 'denyList blockList blackList blocked isBlackListed',
  ipv6Subnet: 'ipv6SubnetPrefix ipv6Prefix ipv6Mask',
  forwarded: 'ipHeader proxyHeader forwardedHeader realIpHeader xForwardedFor',
  countOnly:
    'skipSuccessfulRequests skipFailedRequests requestWasSuccessful skipSuccessful skipFailed countSuccess',
  shadow: 'dryRun reportOnly shadowMode monitor limitReqDryRun limitConnDryRun logOnly',
  headers:
    'setHeaders standardHeaders legacyHeaders addHeaders addHeadersOnExceeding enableDraftSpec draftPolliRatelimitHeaders disableHeader disableHeaders enableHeaders enableXRatelimitHeaders disableXEnvoyRatelimitedHeader responseHeaders headerStyle',
  statusCode:
    'status code httpStatus rateLimitedStatus limitReqStatus limitConnStatus errorCode rejectedCode',
  message: 'errorMessage text body',
  onLimited:
    'handler onExceeded onDenied onLimitReached onLimit onReject onRejected onBlocked onThrottle errorResponseBuilder errorHandler rejectHandler throwThrottlingException onRateLimit limitHandler',
  onStoreError:
    'passOnStoreError skipOnError failOpen failClosed failMode failureMode failureModeDeny failureModeDenyPercent onError storeErrorMode insuranceLimiter rejectIfRedisNotReady rejectIfValkeyNotReady fallback statusOnError',
  scope: 'generateKey',
  hook: 'lifecycleHook',
  prefix: 'nameSpace keyPrefix redisPrefix domain keyNamespace',
  deadline: 'timeout timeoutMs commandTimeout',
  denyCache: 'inMemoryBlockOnConsumed ephemeralCache blockOnConsumed',
  maxKeys: 'cache cacheSize maxEntries maxSize maxDynamicDescriptors lruSize size keysLimit',
  eventLoopDelay: 'maxEventLoopDelay',
  eventLoopUtilization: 'maxEventLoopUtilization',
  heapUsedBytes: 'maxHeapUsedBytes',
  rssBytes: 'maxRssBytes',
  statusRoute: 'exposeStatusRoute',
  onShed: 'pressureHandler customError'
}

/** What those must know who rename it. */
const notes: Readonly<Record<string, string>> = {
  window: "A number is ms; a text has a unit, '60s'.",
  block: "A number is ms; a text has a unit, '10m'.",
  burst:
    "It is the most units at once, for strategy 'token-bucket' and 'gcra'; `limit` come back in each `window`.",
  countOnly: "'failures' leaves successful requests out, 'successes' failed ones.",
  headers: "A style's name, such as 'draft-06'; 'none' for Retry-After only.",
  onLimited: 'It is called with (request, response, rateLimit), and what it returns is sent.',
  onStoreError: "'allow', 'deny' or 'local', for a store outside the process.",
  store: 'Such as memoryStore(), or redisStore(client) of headgate/redis.',
  denyCache: 'It is a duration.',
  limits: 'A list of { limit, window }, decided together.',
  countDenied: 'For a key to stay out for so long there is `block`.',
  onShed: 'It is called with (request, response, shedding), and what it returns is sent, also an error.'
}

/** What there is in place of an option that has no other name here. */
const instead: Readonly<Record<string, string>> = {
  refillRate:
    "a bucket is refilled by `limit` units in each `window`: 10 a second is { limit: 10, window: '1s' }.",
  perSecond: "say it as { limit: 10, window: '1s' }.",
  perMinute: "say it as { limit: 10, window: '1m' }.",
  unit: "the unit is part of `window`, such as '30s' or '1m'.",
  nodelay: "give strategy 'leaky-bucket' a `delayAfter` as large as its `burst`, or take 'token-bucket'.",
  delayMs:
    "`delay: { after: 5, step: '500ms', max: '20s' }` holds what is over `after`, longer each time; strategy 'leaky-bucket' holds requests back for as long as its rate asks for.",
  maxRetry: "so many denials ban a key: `ban: { after: 5, within: '10m', for: '1h' }`.",
  exponentialBackoff: "bans grow: `ban: { after: 1, for: '1m', growth: 2 }`; waits do not.",
  onExceeding: 'there is no such hook; `request.rateLimit` has the decision about each request.',
  groupId:
    'routes share a counter if they use one middleware, or name one of the `policies` of the plugin or module.',
  global:
    'leave `limit` and `window` out of the options of the Fastify plugin: then only routes with a `limit` have one.',
  eventLoopUtilizationMode: 'utilization is always that of the last interval.',
  validate: 'options are always checked; warnings are those of the process, which `process.on` hears.',
  requestPropertyName: 'the decision is always `request.rateLimit`.',
  retryAfter: 'it follows from the limit, exactly; `retryAfterFormat` sets its form.',
  trustProxy: 'the setting of the framework is used: `trust proxy` of Express, `trustProxy` of Fastify.',
  enabled: 'to have no limit leave the limiter out, or use `skip`; `shadow: true` only watches.',
  default: "give the limit itself, such as { limit: 3, window: '1m' }; several named ones are `limits`.",
  routes: 'put the limiter on those routes, or use `skip`.',
  methods: 'put the limiter on those routes, or look at `request.method` in `skip`.',
  tableName: 'of a database headgate/remote makes a store: `remoteStore(backend)`.',
  clearExpiredByTimeout: 'expired keys make room as others come, without a timer.',
  customIncrTtlLuaScript: 'a strategy of your own brings its Lua: see `defineStrategy`.',
  type: 'it is `strategy` for an algorithm, and `store` for where counters live.'
}

/** Other names, by the one of `instead` that says what there is. */
const alike: Readonly<Record<string, string>> = {
  refillRate: 'fillRate leakRate drainRate refillPerSecond tokensPerSecond refill',
  perSecond: 'rps requestsPerSecond limitPerSecond ratePerSecond qps',
  perMinute: 'rpm requestsPerMinute limitPerMinute',
  unit: 'units timeUnit windowUnit intervalUnit',
  delayMs: 'maxDelayMs maxDelay execEvenlyMinDelayMs execEvenly minTime throttleMs',
  maxRetry: 'onBanReach maxViolations banAfter banTime banDuration findTime maxFailures maxFails',
  exponentialBackoff: 'backoff backoffFactor banTimeIncrement banTimeFactor',
  groupId: 'group shared',
  validate: 'validations logger log logging debug verbose logLevel limitReqLogLevel limitConnLogLevel',
  trustProxy: 'proxy proxies trustedProxies realIp',
  enabled: 'enable disabled disable active filterEnabled filterEnforced unlimited',
  routes: 'route path paths url urls limitReq limitReqZone',
  methods: 'method verbs',
  tableName: 'dbName schema schemaName storeType tableCreated indexKeyPrefix disableIndexesCreation',
  customIncrTtlLuaScript: 'useRedisPackage useRedis3AndLowerPackage',
  type: 'mode kind'
}

/** Where our own options stand, for those who write them in another place. */
const homes: Readonly<Record<string, string>> = {
  'a limiter': 'limit window strategy delay burst align delayAfter name limits concurrency queue maxWait',
  'a limiter, not of its store or of one policy': 'store now countDenied block ban lease',
  'a limiter with a store outside the process, or of that store': 'onStoreError share',
  'limiters of HTTP requests; `consume(key, cost)` of others is given both': 'key cost',
  'limiters of HTTP requests, beside `limits` if there are several':
    'skip allow deny ipv6Subnet forwarded countOnly shadow headers retryAfterFormat exposeHeaders partitionKey statusCode message onLimited',
  '`memoryStore` or `sharedStore`, which make the `store`': 'maxKeys',
  '`sharedStore`, which makes the `store`': 'maxBytes from',
  '`redisStore`, which makes the `store`': 'prefix cluster',
  '`redisStore` or `remoteStore`, which make the `store`': 'deadline breaker denyCache onStateChange',
  'the Fastify plugin and its routes': 'hook',
  'the Fastify plugin, or of `RateLimitModule` of NestJS': 'policies',
  '`delay`, which slows requests down': 'step places',
  '`headgate/nest`': 'stage scope',
  '`shed`': 'priority priorities defaultPriority shedHighest reserve health healthPaths onShed',
  'the `health` of `shed`':
    'eventLoopDelay eventLoopUtilization heapUsedBytes rssBytes inFlight gauge sampleInterval healthCheck healthCheckInterval',
  'the Fastify plugin `shed`': 'statusRoute'
}

/** The owners of each name in such lists. */
function ownersIn(
  lists: Readonly<Record<string, string>>,
  wordOf: (name: string) => string = bare
): Map<string, readonly string[]> {
  const owners = new Map<string, readonly string[]>()
  for (const [owner, names] of Object.entries(lists))
    for (const word of names.split(' ').map(wordOf)) owners.set(word, [...(owners.get(word) ?? []), owner])
  return owners
}

function bare(name: string): string {
  return name.replace(/[_-]/g, '').toLowerCase()
}

/** Made with the first name that is not known. */
let tables: ReturnType<typeof makeTables> | undefined

function makeTables() {
  return {
    renamed: ownersIn(renamed),
    homes: ownersIn(homes, (name) => name),
    alike: ownersIn(alike),
    instead: new Map(Object.entries(instead).map(([name, text]) => [bare(name), text]))
  }
}

/**
 * What to write in place of an option that is not known where it stands; undefined if nobody calls anything so.
 * @param isKnown whether an option is known there
 */
export function foreignHint(name: string, isKnown: (option: string) => boolean): string | undefined {
  tables ??= makeTables()
  const word = bare(name)
  const ours = tables.renamed.get(word) ?? []
  const here = ours.find(isKnown)
  if (here !== undefined) return `did you mean \`${here}\`?${noteOn(here)}`
  const [like = name] = tables.alike.get(word) ?? []
  const other = tables.instead.get(bare(like))
  if (other !== undefined) return other
  const [home] = tables.homes.get(ours[0] ?? name) ?? []
  if (home === undefined) return undefined
  if (ours[0] === undefined) return `it is an option of ${home}.`
  return `it is \`${ours[0]}\`, an option of ${home}.${noteOn(ours[0])}`
}

/** True for another limiter's name of an option that is known. */
export function isForeignNameOf(name: string, isKnown: (option: string) => boolean): boolean {
  tables ??= makeTables()
  return tables.renamed.get(bare(name))?.some(isKnown) === true
}

function noteOn(option: string): string {
  const note = notes[option]
  return note === undefined ? '' : ` ${note}`
}
