import type { DenialResponse } from '../http/outcome.js'
import type { HealthCheckResult } from './health-check.js'
import type { ShedState } from './state.js'

/** What a status route answers. */
export interface ShedStatus {
  /** 200, or 503 where the worker is not healthy. */
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  /** `status`, and what the health check returned besides. */
  readonly body: Readonly<Record<string, unknown>>
}

const unstored = { 'Cache-Control': 'no-store' }

/**
 * The status of a worker: 200 while it serves, also where it sheds some, since other workers would not do better with its
 * load; 503 where the health check fails or all that may be shed for health is.
 */
export function statusOf(
  checked: HealthCheckResult,
  { isHealthy, isShedding, reasons }: ShedState,
  { status, names, values }: Pick<DenialResponse, 'status' | 'names' | 'values'>
): ShedStatus {
  const more = typeof checked === 'object' ? checked : {}
  if (checked !== false && isHealthy)
    return {
      statusCode: 200,
      headers: unstored,
      body: { status: isShedding ? 'shedding' : 'ok', ...more }
    }
  return {
    statusCode: status,
    headers: Object.fromEntries(names.map((name, i) => [name, values[i]!])),
    body: { status: 'unavailable', ...more, reasons }
  }
}
