import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Denial, type DenialKind, denialBody } from '../../src/http/denial.js'
import vectors from '../vectors/headers.json' with { type: 'json' }

const denial: Denial = { kind: 'quota', status: 429, violatedPolicies: ['default'], retryAfterSeconds: 40 }

const text = 'text/plain; charset=utf-8'
const json = 'application/json; charset=utf-8'
const problem = 'application/problem+json'

describe('problem details vectors', () => {
  for (const { id, title, input, expected } of vectors.problemDetails) {
    it(`${id} ${title}`, () => {
      const violated = input.decisions.filter((tier) => !tier.allowed).map((tier) => tier.policyName)
      const answer = denialBody('application/problem+json', {
        kind: input.kind as DenialKind,
        status: expected.status,
        violatedPolicies: violated,
        retryAfterSeconds: 5
      })
      expect(answer.contentType).toBe(expected.contentType)
      expect(JSON.parse(answer.body)).toStrictEqual(expected.body)
    })
  }
})

describe('negotiation', () => {
  it.each([
    [undefined, text],
    ['', text],
    [' ', text],
    ['*/*', text],
    ['*/*;q=0.1', text],
    ['text/*', text],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8', text],
    ['image/png', text],
    ['text/plain, application/json', text],
    ['application/json', json],
    ['Application/JSON ; charset=utf-8', json],
    ['application/json, text/plain, */*', json],
    ['application/json, */*;q=0.5', json],
    ['*/*, application/json', json],
    ['application/*', json],
    ['text/html, application/json;q=0.9', json],
    ['text/plain;q=0.5, application/json;q=0.6', json],
    ['text/plain;q=0, */*', json],
    ['text/plain;q=0', json],
    ['text/*;q=0.9, text/plain;q=0.1, application/json;q=0.5', json],
    ['application/problem+json', problem],
    ['application/json, application/problem+json', problem],
    ['text/plain, application/json, application/problem+json, */*', problem],
    ['APPLICATION/PROBLEM+JSON', problem],
    ['application/problem+json;q=0.9, application/json', json],
    ['application/problem+json;q=0.9, */*;q=0.8', problem],
    ['application/problem+json; Q=0.3, text/plain;q=0.2', problem],
    ['application/problem+json;q=0, application/json', json],
    ['application/*;q=0.5, application/json;q=0', problem],
    ['*/*;q=0', text],
    ['application/json;q=high, text/plain;q=0.1', text],
    ['application/json;q=, application/problem+json;q=-1', text]
  ])('%s', (accept, contentType) => {
    expect(denialBody(accept, denial).contentType).toBe(contentType)
  })

  it('reads no more than the first KiB, and no range cut in two', () => {
    const filler = `${'image/png, '.repeat(92)}`
    expect(denialBody(`${filler}application/json`, denial).contentType).toBe(text)
    expect(denialBody(`application/json, ${filler.repeat(60)}`, denial).contentType).toBe(json)
    const cut = `${'x'.repeat(1006)}, application/json-patch+json`
    expect(cut.slice(0, 1024)).toMatch(/ application\/json$/)
    expect(denialBody(cut, denial).contentType).toBe(text)
  })

  it.each([
    [','.repeat(65_536)],
    [';'.repeat(65_536)],
    ['*/*;q='.repeat(11_000)],
    ['/'.repeat(65_536)],
    ['application/json;'.repeat(4_000)],
    ['"\\\u0000\uFFFF\uD800'.repeat(13_000)]
  ])('takes 64 KiB of garbage', (accept) => {
    expect([text, json, problem]).toContain(denialBody(accept, denial).contentType)
  })

  it('never throws, whatever Accept says', () => {
    const piece = fc.constantFrom(
      ...[
        'text',
        'application',
        '/',
        '*',
        'json',
        'problem+json',
        'plain',
        ';',
        'q',
        '=',
        '0',
        '1',
        '.',
        ',',
        ' ',
        '"'
      ]
    )
    const accept = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.array(piece).map((pieces) => pieces.join(''))
    )
    fc.assert(
      fc.property(accept, (value) => {
        const { contentType, body } = denialBody(value, denial)
        if (contentType !== text) JSON.parse(body)
        expect([text, json, problem]).toContain(contentType)
      }),
      { numRuns: 1_000 }
    )
  })
})

describe('bodies', () => {
  const body = (accept: string, change: Partial<Denial> = {}) =>
    denialBody(accept, { ...denial, ...change }).body

  it('text names the wait', () => {
    expect(body('text/plain')).toBe('Too many requests, retry in 40 s.')
    expect(body('text/plain', { retryAfterSeconds: null })).toBe('Too many requests; waiting does not help.')
    expect(body('text/plain', { kind: 'capacity' })).toBe('The server is short of capacity, retry in 40 s.')
    expect(body('text/plain', { kind: 'abuse' })).toBe('Abnormal usage detected, retry in 40 s.')
  })

  it('JSON repeats status and wait', () => {
    expect(JSON.parse(body('application/json'))).toStrictEqual({
      error: 'Too Many Requests',
      message: 'Too many requests, retry in 40 s.',
      statusCode: 429,
      retryAfter: 40
    })
    expect(JSON.parse(body('application/json', { status: 503 })).error).toBe('Service Unavailable')
    expect(JSON.parse(body('application/json', { status: 418 })).error).toBe('Request Denied')
  })

  it.each([null, Number.NaN, Number.POSITIVE_INFINITY])(
    'JSON leaves a wait of %s out',
    (retryAfterSeconds) => {
      expect(JSON.parse(body('application/json', { retryAfterSeconds }))).toStrictEqual({
        error: 'Too Many Requests',
        message: 'Too many requests; waiting does not help.',
        statusCode: 429
      })
    }
  )

  it('a message replaces the sentence, and is the detail of problem details', () => {
    const message = 'Slow down, "friend".'
    expect(body('text/plain', { message })).toBe(message)
    expect(JSON.parse(body('application/json', { message })).message).toBe(message)
    expect(JSON.parse(body('application/problem+json', { message }))).toStrictEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota Exceeded',
      status: 429,
      detail: message,
      'violated-policies': ['default']
    })
  })
})
