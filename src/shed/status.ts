import { warn } from '../core/warn.js'
import type { DenialResponse } from '../http/outcome.js'
import { asError } from '../http/promise.js'
import type { HealthCheckResult } from './health-check.js'
import type { ShedState } from './state.js'

/** What a status route answers. */
export interface ShedStatus {
  /** 200, or 503 where the worker is not healthy. */
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  /** `status`, and what the health check returned besides. It is always JSON. */
  readonly body: Readonly<Record<string, unknown>>
}

/**
 * Tells the status of a worker: 200 while it serves, also where it sheds some, since other workers would not do better with
 * its load; 503 where the health check fails or all that may be shed for health is.
 */
export class StatusReport {
  readonly #shortage: Omit<ShedStatus, 'body'>
  #hasWarned = false

  /** @param head what answers say that tell of a shortage */
  constructor({ status, names, values }: Pick<DenialResponse, 'status' | 'names' | 'values'>) {
    const headers = Object.fromEntries(names.map((name, i) => [name, values[i]!]))
    this.#shortage = { statusCode: status, headers }
  }

  make(checked: HealthCheckResult, { isHealthy, isShedding, reasons }: ShedState): ShedStatus {
    const said = typeof checked === 'object' ? this.#fieldsOf(checked) : {}
    const own = isHealthy
      ? { status: isShedding ? 'shedding' : 'ok' }
      : { status: 'unavailable', reasons: [...reasons] }
    // Ours stand first, and are not replaced.
    const body = { ...own, ...said, ...own }
    if (!isHealthy) return { ...this.#shortage, body }
    return { statusCode: 200, headers: { 'Cache-Control': 'no-store' }, body }
  }

  /** The JSON of the object that a check returned; what has none is left out, lest there be no answer. */
  #fieldsOf(checked: object): object {
    try {
      const text: unknown = JSON.stringify(checked)
      const fields: unknown = typeof text === 'string' ? JSON.parse(text) : undefined
      if (typeof fields === 'object' && fields !== null) return fields
      throw new Error(`its JSON is ${text === undefined ? 'nothing' : 'no object'}`)
    } catch (error) {
      this.#warn(error)
      return {}
    }
  }

  #warn(error: unknown): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    warn(
      'HEADGATE_HEALTH_FAILED',
      `The object that \`healthCheck\` returned is no JSON, so the status is sent without its fields: ${asError(error).message}`
    )
  }
}
