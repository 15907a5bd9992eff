import type { Denial, DenialBody } from './denial.js'
import type { RequestRateLimit } from './request-rate-limit.js'

/** What a gate has decided about a request. Nothing of a denial has been sent yet. */
export type Outcome = Passed | Held | Denied | Answered

/** The request goes on. */
export interface Passed {
  readonly kind: 'passed'
}

/** The request goes on after so many ms, or later: not before an earlier one of its key. */
export interface Held {
  readonly kind: 'held'
  readonly forMs: number
  /** Calls back when its turn has come; never, once its client has left. */
  readonly whenDue: (next: () => void) => void
}

/** The request is refused, and this is to be sent. */
export interface Denied {
  readonly kind: 'denied'
  readonly response: DenialResponse
  /** What was decided; undefined for an address of the deny list. */
  readonly rateLimit: RequestRateLimit | undefined
}

/** The request is refused, and `onLimited` has answered it. */
export interface Answered {
  readonly kind: 'answered'
}

export const passed: Passed = Object.freeze({ kind: 'passed' })
export const answered: Answered = Object.freeze({ kind: 'answered' })

/** The response to a denied request. */
export interface DenialResponse {
  readonly status: number
  /** Fields to set: their names, and in the same order their values. One whose value is empty is left out. */
  readonly names: readonly string[]
  readonly values: readonly string[]
  /**
   * True where fields go that earlier middleware has set for another answer: `setHead` removes them. False where
   * `onLimited` has set the head.
   */
  readonly isFresh: boolean
  readonly body: ResponseBody
}

/**
 * What a denied request is told: the built-in answer, or the value that `onLimited` returned; or the error that it
 * returned, which is for the framework's handler of errors, and says the status.
 */
export type ResponseBody =
  | { readonly kind: 'denial'; readonly denial: Denial; readonly content: DenialBody }
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'error'; readonly error: Error }
