/*
 * What an adapter for another framework is made of: a host says how to read the framework's requests and to write its
 * responses, and a gate of a plan decides about them. test/http/koa has such an adapter.
 */
export { canonicalAddress } from './address.js'
export { addressMatcher } from './address-list.js'
export { limiterBehind } from './by-hand.js'
export { type Hop, hopByHop, type PeerSocket, type TrustedHops } from './client-address.js'
export { admits, type Entry, hold, type Next, sendBody, sendDenial, setHead, takeThrough } from './deliver.js'
export type { Denial, DenialBody } from './denial.js'
export { Gate } from './gate.js'
export type { HeaderPlan } from './headers/index.js'
export { type Host, isOpen } from './host.js'
export { isResponseOver, type NodeResponse, onResponseOver } from './node-response.js'
export { type GatePlan, gatePlan } from './options.js'
export type { Answered, DenialResponse, Denied, Held, Outcome, Passed, ResponseBody } from './outcome.js'
export { hasBody } from './preflight.js'
export * from './public.js'
export { RequestFacts } from './request-facts.js'
export type { RuleSource, Rules } from './rules.js'
export { TurnWatch } from './turn-watch.js'
