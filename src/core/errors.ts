/**
 * Every error that headgate raises, by its stable code, with its meaning. Denials are not among them: they are values.
 */
export const errorCodes = {
  HEADGATE_BAD_OPTION: 'An option has a value that cannot work; the message names option, value and fix.',
  HEADGATE_UNKNOWN_OPTION: 'An option name is not known; the message names the nearest known one.',
  HEADGATE_UNKNOWN_STRATEGY: 'No strategy of that name is built in or defined.',
  HEADGATE_STRATEGY_EXISTS: 'A strategy of that name is already defined.',
  HEADGATE_UNKNOWN_POLICY: 'A route or handler names a policy that the plugin or module was not given.',
  HEADGATE_POLICY_CLASH: 'Two policies have the same name but different rules.',
  HEADGATE_BAD_KEY: 'A key is empty or not text, so nobody could be charged.',
  HEADGATE_BAD_COST: 'A cost is not a positive integer.',
  HEADGATE_BAD_LIMIT: 'A limit or window function returned something that is not one.',
  HEADGATE_STORE_FULL:
    'A store has no room: for more blocked keys than its `maxKeys`, or, shared, for more limiters or threads.',
  HEADGATE_STORE_FAILED: 'The store did not answer, not in time, or with an error; `cause` has the reason.',
  HEADGATE_MISUSE: 'The adapter was used in a way that would leave routes unprotected.'
} as const

/** A stable error code. */
export type ErrorCode = keyof typeof errorCodes

/** An error of headgate. `code` is stable across versions, the message is not. */
export class HeadgateError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'HeadgateError'
    this.code = code
  }
}
