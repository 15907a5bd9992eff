import { describe, expect, it } from 'vitest'
import { sendDenial } from '../../src/http/deliver.js'
import { Gate } from '../../src/http/gate.js'
import type { Host } from '../../src/http/host.js'
import { type GateOptions, gatePlan } from '../../src/http/options.js'
import type { DenialResponse, Outcome } from '../../src/http/outcome.js'

interface Request {
  readonly headers: Readonly<Record<string, string>>
  rateLimit?: unknown
}

/** A response, and what was done with it, in order. */
class Response {
  readonly headers = new Map<string, string>()
  readonly done: string[] = []
  status = 200
  isTaken = false
  isOnWire = false
}

const host: Host<Request, Response> = {
  method: () => 'GET',
  header: ({ headers }, name) => headers[name],
  socket: () => ({ remoteAddress: '203.0.113.1' }),
  hasBody: () => false,
  trust: () => null,
  ip: () => undefined,
  trustSetting: () => undefined,
  trustOption: 'trust',
  setRecord(request, record) {
    request.rateLimit = record
  },
  headerNames: (response) => [...response.headers.keys()],
  getHeader: (response, name) => response.headers.get(name),
  setHeaders(response, names, values) {
    names.forEach((name, i) => {
      if (values[i] === '') return
      response.headers.set(name, values[i]!)
      response.done.push(`set ${name}`)
    })
  },
  removeHeader(response, name) {
    response.headers.delete(name)
    response.done.push(`remove ${name}`)
  },
  hasAnswered: (response) => response.isTaken,
  watchAnswer: () => null,
  isOnWire: (response) => response.isOnWire,
  status: (response) => response.status,
  sentStatus: (response) => response.status,
  setStatus(response, status) {
    response.status = status
    response.done.push(`status ${status}`)
  },
  send: (response, { body }) => void response.done.push(`send ${body}`),
  sendValue: (response, value) => void response.done.push(`send value ${value}`),
  cutShort: (response) => void response.done.push('cut short'),
  isClosed: () => false,
  onEnd() {}
}

type Options = Partial<GateOptions<Request, Response>>

/** The outcome for one more request than the limit allows, on a response of one's own. */
function denied(options: Options, response = new Response()): { outcome: Outcome; response: Response } {
  const plan = gatePlan<Request, Response>(
    { limit: 1, window: '1m', now: () => 1_700_000_000_000, ...options } as GateOptions<Request, Response>,
    'a test'
  )
  const gate = new Gate(plan)
  gate.enter(host, { headers: {} }, new Response())
  return { outcome: gate.enter(host, { headers: {} }, response) as Outcome, response }
}

function responseOf(outcome: Outcome): DenialResponse {
  if (outcome.kind !== 'denied') throw new Error(`it is ${outcome.kind}`)
  return outcome.response
}

const fieldsOf = ({ names, values }: DenialResponse) =>
  Object.fromEntries(names.map((name, i) => [name, values[i]]))

describe('the outcome of a gate', () => {
  it('is passed, with the fields set, as long as the limit is not reached', () => {
    const { outcome, response } = denied({ limit: 2 })
    expect(outcome).toEqual({ kind: 'passed' })
    expect(response.done).toContain('set RateLimit-Remaining')
  })

  it('is held for so many ms where traffic is shaped', () => {
    const { outcome } = denied({ strategy: 'leaky-bucket', limit: 1, window: '1m', burst: 1 })
    expect(outcome).toMatchObject({ kind: 'held', forMs: 60_000 })
  })

  it('is denied with all that is to be sent, while nothing has been done to the response', () => {
    const { outcome, response } = denied({ message: 'not so fast' })
    expect(response.done).toEqual([])
    expect(responseOf(outcome)).toMatchObject({
      status: 429,
      isFresh: true,
      body: { kind: 'denial', content: { contentType: 'text/plain; charset=utf-8', body: 'not so fast' } }
    })
    expect(fieldsOf(responseOf(outcome))).toEqual({
      'RateLimit-Policy': '1;w=60',
      'RateLimit-Limit': '1',
      'RateLimit-Remaining': '0',
      'RateLimit-Reset': '40',
      'Retry-After': '40',
      'Cache-Control': 'no-store'
    })
    expect(outcome).toMatchObject({ rateLimit: { allowed: false, retryAfterMs: 40_000 } })
  })

  it('is denied without a decision for an address of the deny list', () => {
    const { outcome, response } = denied({ deny: ['203.0.113.1'] })
    expect(response.done).toEqual([])
    expect(responseOf(outcome)).toMatchObject({ status: 403, names: ['Cache-Control'], values: ['no-store'] })
    expect(outcome).toMatchObject({ rateLimit: undefined })
  })

  it('carries what `onLimited` returns, on a response that has the fields by then', () => {
    const seen: unknown[] = []
    const { outcome, response } = denied({
      onLimited: (_request, at) => {
        seen.push(at.status, at.headers.get('Retry-After'), at.headers.get('Cache-Control'))
        at.status = 418
        return 'teapot'
      }
    })
    expect(seen).toEqual([429, '40', 'no-store'])
    expect(responseOf(outcome)).toMatchObject({
      status: 418,
      names: [],
      body: { kind: 'value', value: 'teapot' }
    })
    expect(response.done.filter((what) => what.startsWith('send'))).toEqual([])
  })

  it('is answered where `onLimited` has done that', () => {
    const take = (_request: Request, response: Response) => {
      response.isTaken = true
    }
    const { outcome } = denied({ onLimited: take })
    expect(outcome).toEqual({ kind: 'answered' })
    expect(denied({ onLimited: (_request, response) => response }).outcome).toMatchObject({ kind: 'denied' })
  })

  it('asks no function of the user’s once somebody else has begun to answer', () => {
    for (const begun of ['isTaken', 'isOnWire'] as const) {
      const response = Object.assign(new Response(), { [begun]: true })
      const fail = () => {
        throw new Error('it was asked')
      }
      const { outcome } = denied({ onLimited: fail, message: fail }, response)
      expect(responseOf(outcome)).toMatchObject({ status: 429 })
      expect(response.done).toEqual([])
    }
  })
})

describe('sending a denial', () => {
  it('sets the head and ends the response', () => {
    const { outcome, response } = denied({ headers: 'none' })
    response.headers.set('Content-Length', '5')
    sendDenial(host, response, responseOf(outcome))
    expect(response.done).toEqual([
      'status 429',
      'set Retry-After',
      'set Cache-Control',
      'remove Content-Length',
      'send Too many requests, retry in 40 s.'
    ])
  })

  it('leaves a response alone that somebody else has taken over', () => {
    const { outcome, response } = denied({})
    response.isTaken = true
    response.isOnWire = true
    sendDenial(host, response, responseOf(outcome))
    expect(response.done).toEqual([])
  })

  it('cuts a response short that has begun', () => {
    const { outcome, response } = denied({})
    response.isOnWire = true
    sendDenial(host, response, responseOf(outcome))
    expect(response.done).toEqual(['cut short'])
  })
})
