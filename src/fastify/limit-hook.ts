import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { fastifyHost } from '../hosts/fastify/host.js'
import { type Next, takeThrough } from '../http/deliver.js'
import type { Gate } from '../http/gate.js'
import type { LimitHook } from './options.js'

export type FastifyGate = Gate<FastifyRequest, FastifyReply>

/** A gate and the hook that it runs in. */
export interface Placed {
  readonly gate: FastifyGate
  readonly hook: LimitHook
}

type PlainHook = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void

/** A hook that takes a request through the gate that is chosen for it. */
export function limitHook(choose: (request: FastifyRequest) => FastifyGate | null): PlainHook {
  // `preParsing` gives its hooks the payload before the callback. Not a rest parameter: it would be an array a request.
  return (request: FastifyRequest, reply: FastifyReply, third: unknown, fourth?: unknown) => {
    const done = (fourth ?? third) as Next
    const gate = choose(request)
    if (gate === null) done()
    else takeThrough(gate, fastifyHost, request, reply, done)
  }
}
