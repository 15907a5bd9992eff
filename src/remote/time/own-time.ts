const timers = process.getBuiltinModule('node:timers')
const { performance } = process.getBuiltinModule('node:perf_hooks')

/*
 * The time of the process itself, taken when this module is loaded: a test that fakes timers and clocks afterwards does
 * not stop a database from answering.
 */

/** Monotonic time, ms. */
export const monotonicMs: () => number = performance.now.bind(performance)

/** Node's own timers. */
export const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate } = timers
