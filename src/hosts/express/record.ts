import type { RequestRateLimit } from '../../http/request-rate-limit.js'

const { IncomingMessage } = process.getBuiltinModule('node:http')

/** Where a request's record is kept: on its list of header fields, which is the request's own from beginning to end. */
const slot = Symbol('headgate.rateLimit')

interface Request {
  rateLimit?: RequestRateLimit
  readonly rawHeaders?: string[] & { [slot]?: RequestRateLimit }
}

/** Prototypes of requests that have the accessor, those that have not, and the last of the former. */
const known = new WeakMap<object, boolean>()
let last: object | null = null

/*
 * Express gives each request a prototype of its app and thereby a shape of its own, so a property that is added costs as
 * much as a third of a limiter (bench/http.js). So `request.rateLimit` is an accessor of `express.request`, where Express
 * has requests extended; it leads to the slot. Requests of bare Node servers have the property itself.
 */

export function recordOf(request: Request): unknown {
  return usesSlot(request) ? request.rawHeaders?.[slot] : request.rateLimit
}

export function setRecord(request: Request, record: RequestRateLimit): void {
  if (usesSlot(request) && request.rawHeaders !== undefined) request.rawHeaders[slot] = record
  else request.rateLimit = record
}

function usesSlot(request: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(request)
  if (prototype === last) return prototype !== null
  const isExtended = prototype !== null && (known.get(prototype) ?? extend(prototype))
  if (isExtended) last = prototype
  return isExtended
}

/** Gives the accessor to what Express's apps have in common, if the prototype is that of an app. */
function extend(prototype: object): boolean {
  let base: object | null = prototype
  while (base !== null && Object.getPrototypeOf(base) !== IncomingMessage.prototype)
    base = Object.getPrototypeOf(base)
  const isExtended = base !== null && 'app' in prototype
  if (isExtended && !Object.hasOwn(base!, 'rateLimit')) Object.defineProperty(base, 'rateLimit', accessor)
  known.set(prototype, isExtended)
  return isExtended
}

const accessor: PropertyDescriptor & ThisType<Request> = {
  configurable: true,
  get() {
    return this.rawHeaders?.[slot]
  },
  // Other limiters set it too.
  set(value: RequestRateLimit) {
    if (this.rawHeaders !== undefined) this.rawHeaders[slot] = value
  }
}
