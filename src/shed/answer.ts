import { badOption } from '../core/options.js'
import { type Denial, type DenialBody, denialBody } from '../http/denial.js'
import { handOver } from '../http/hand-over.js'
import { type Host, isOpen } from '../http/host.js'
import type { DenialResponse, Denied, Outcome } from '../http/outcome.js'
import type { OnShed, ShedPlan } from './options.js'
import type { Shedding } from './state.js'

const status = 503

/** For how many different values of Accept an answer is kept. */
const mostKept = 100

/** Makes the answer to requests that are shed. What does not depend on the request is made once. */
export class ShedAnswer<Req, Res> {
  readonly #plan: Pick<ShedPlan<Req, Res>, 'message' | 'retryAfterMs'>
  readonly #head: Pick<DenialResponse, 'status' | 'names' | 'values'>
  readonly #seconds: number
  /** By form and Accept. */
  readonly #kept = new Map<string, Denied>()

  constructor(plan: Pick<ShedPlan<Req, Res>, 'message' | 'retryAfterMs'>) {
    this.#plan = plan
    this.#seconds = Math.ceil(plan.retryAfterMs / 1000)
    this.#head = {
      status,
      names: ['Retry-After', 'Cache-Control'],
      values: [String(this.#seconds), 'no-store']
    }
  }

  /** Fields of an answer that tells of a shortage. */
  get head(): Pick<DenialResponse, 'status' | 'names' | 'values'> {
    return this.#head
  }

  /**
   * The answer to a request. `tell` says what is shed, to functions of the user's alone.
   * @throws what those throw
   */
  make(
    host: Host<Req, Res>,
    request: Req,
    response: Res,
    onShed: OnShed<Req, Res> | null,
    tell: () => Shedding
  ): Outcome | PromiseLike<Outcome> {
    const { message } = this.#plan
    const text = typeof message === 'function' ? () => textOf(message(request, tell())) : null
    const builtIn = () => this.#builtIn(host, request, text === null ? (message as string | null) : text())
    if (onShed === null || !isOpen(host, response)) return builtIn()
    return handOver(host, response, {
      head: this.#head,
      call: () => onShed(request, response, tell()),
      otherwise: builtIn,
      rateLimit: undefined
    })
  }

  #builtIn(host: Host<Req, never>, request: Req, message: string | null): Denied {
    const field = host.header(request, 'accept')
    const accept = typeof field === 'string' ? field : undefined
    // A text of the request's own is for no other.
    if (typeof this.#plan.message === 'function') return this.#denied(host, accept, message)
    const key = `${host.denialForm} ${accept}`
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept
    const made = this.#denied(host, accept, message)
    if (this.#kept.size < mostKept) this.#kept.set(key, made)
    return made
  }

  #denied({ denialForm }: Host<Req, never>, accept: string | undefined, message: string | null): Denied {
    const denial: Denial = {
      kind: 'capacity',
      status,
      violatedPolicies: [],
      retryAfterSeconds: this.#seconds,
      ...(message === null ? {} : { message })
    }
    const content: DenialBody = denialBody(accept, denial, denialForm)
    const body = { kind: 'denial', denial, content } as const
    return { kind: 'denied', response: { ...this.#head, isFresh: true, body }, rateLimit: undefined }
  }
}

function textOf(text: unknown): string {
  if (typeof text === 'string') return text
  throw badOption('message', text, 'its function must return a text')
}
