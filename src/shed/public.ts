/* What the entries of all frameworks export of load shedding beside their own function. */
export type { HealthReason } from './health.js'
export type { HealthCheck, HealthCheckResult } from './health-check.js'
export type { Gauge, HealthOptions } from './health-options.js'
export type { DefaultPriority, ShedOptions } from './options.js'
export type { Signal } from './signals.js'
export type { Shedding, ShedReason, ShedState } from './state.js'
export type { ShedStatus } from './status.js'
