/**
 * Every error that headgate raises, by its stable code, with its meaning. Denials are not among them: they are values.
 */
export const errorCodes = {
  HEADGATE_BAD_OPTION: 'An option has a value that cannot work; the message names option, value and fix.',
  HEADGATE_UNKNOWN_OPTION: 'An option name is not known; the message names the nearest known one.',
  HEADGATE_UNKNOWN_STRATEGY: 'No strategy of that name is built in or defined.',
  HEADGATE_STRATEGY_EXISTS: 'A strategy of that name is already defined.',
  HEADGATE_BAD_STRATEGY: 'A strategy breaks its contract, or its Lua failed; the message says how.',
  HEADGATE_UNKNOWN_POLICY: 'A route or handler names a policy that the plugin or module was not given.',
  HEADGATE_UNKNOWN_PLAN: 'The `plan` function told a plan that is not among `plans`.',
  HEADGATE_POLICY_CLASH: 'Two policies have the same name but different rules.',
  HEADGATE_BAD_KEY: 'A key is empty or not text, so nobody could be charged.',
  HEADGATE_BAD_COST: 'A cost is not a whole number of at least 0.',
  HEADGATE_BAD_LIMIT: 'A limit or window function returned something that is not one.',
  HEADGATE_MUST_RELEASE: 'What is counted in flight must be released: the message says what to call.',
  HEADGATE_BAD_RULES:
    'A file of rules cannot be read, or is wrong; the message has each fault with its line.',
  HEADGATE_STORE_FULL:
    'A store has no room: for more blocked keys than its `maxKeys`, or, shared, for more limiters or threads.',
  HEADGATE_BAD_SAVE: 'Saved bytes of a store are damaged, cut off, or of another version or store.',
  HEADGATE_STORE_FAILED: 'The store did not answer, not in time, or with an error; `cause` has the reason.',
  HEADGATE_MISUSE: 'The adapter was used in a way that would leave routes unprotected.'
} as const

/** A stable error code. */
export type ErrorCode = keyof typeof errorCodes

/** Marks the errors of every copy of headgate in a process: one may be imported and another required. */
const mark = Symbol.for('headgate.error/1')

/**
 * An error of headgate. `code` is stable across versions, the message is not. `instanceof` is true for the errors of other
 * copies of headgate too.
 */
export class HeadgateError extends Error {
  readonly code: ErrorCode

  static {
    Object.defineProperty(HeadgateError.prototype, mark, { value: true })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: subclasses inherit this, and are told apart as ever
    if (this !== HeadgateError) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && mark in value
  }

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'HeadgateError'
    this.code = code
  }
}
