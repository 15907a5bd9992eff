import type { OptionTable } from '../core/options.js'
import { limitOptions } from '../core/policy-or-limits.js'
import { type LimiterSettings, limiterOptions } from '../limiter/options.js'
import { type HttpSettings, httpOptions } from './http-options.js'

/** The options of an HTTP limiter other than its policies. */
export interface GateSettings<Req, Res> extends LimiterSettings, HttpSettings<Req, Res> {}

/** How those are read. A route may inherit them from its plugin. */
export const gateSettings: OptionTable = { ...limiterOptions, ...httpOptions }

/** The options of a gate whose limit may be left out, as in a plugin or a module. */
export const gateOptions: OptionTable = { ...limitOptions, ...gateSettings }
