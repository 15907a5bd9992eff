import type { FastifyRequest } from 'fastify'
import type { TrustFunction } from '../../http/client-address.js'

/** What Fastify's `ips` getter reads of a request. */
interface Probe {
  readonly ips: string[]
  raw: { headers: { 'x-forwarded-for': string }; socket: { remoteAddress: string } }
}

/**
 * Fastify's own `trustProxy`, as a function. Fastify keeps the setting to itself, but its `ips` getter lists the
 * peer, the forwarded addresses that it trusts, and the first that it does not: so a chain that ends in the address
 * in question and one more tells whether that address is trusted.
 */
export function trustOf(request: FastifyRequest): TrustFunction | null {
  return request.ips === undefined ? null : trustBy(Object.getPrototypeOf(request))
}

/**
 * The same where there is no request at hand but a server: it keeps the prototype of its requests under a symbol. null
 * where it is not found, or has no getter.
 */
export function trustOfServer(app: object): TrustFunction | null {
  for (let scope: object | null = app; scope !== null; scope = Object.getPrototypeOf(scope)) {
    const key = Object.getOwnPropertySymbols(scope).find((symbol) => symbol.description === 'fastify.Request')
    if (key === undefined) continue
    const { prototype } = (scope as Record<symbol, { prototype?: object }>)[key] ?? {}
    return prototype !== undefined && 'ips' in prototype ? trustBy(prototype) : null
  }
  return null
}

function trustBy(prototype: object): TrustFunction {
  const probe = Object.create(prototype) as Probe
  const chain: string[] = []
  return (address, hop) => {
    chain[hop] = address
    for (let i = 0; i < hop; i++) chain[i] ??= address
    const forwarded = ['unknown', ...chain.slice(1, hop + 1).reverse()].join(', ')
    probe.raw = { headers: { 'x-forwarded-for': forwarded }, socket: { remoteAddress: chain[0]! } }
    return probe.ips.length > hop + 1
  }
}
