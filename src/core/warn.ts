/** Says something as a process warning. Callers see to it that they say it once. */
export function warn(code: string, message: string): void {
  process.emitWarning(message, { type: 'HeadgateWarning', code })
}

/** Where a process keeps what has been said, for all copies of this package. */
const saidSlot = Symbol.for('headgate.said/1')

/** Says something once a process, however many limiters it holds for. */
export function warnOnce(code: string, message: string): void {
  const global = globalThis as { [saidSlot]?: Set<string> }
  global[saidSlot] ??= new Set()
  const said = global[saidSlot]
  if (said.has(message)) return
  said.add(message)
  warn(code, message)
}

/** Says once for each value that a number below 1000 is milliseconds, as most of them are meant as seconds. */
export function warnOfShort(option: string, value: unknown): void {
  const hint = shortHint(option, value)
  if (hint !== undefined) warnOnce('HEADGATE_SHORT_WINDOW', hint)
}

/** What there is to say of such a number. */
export function shortHint(option: string, value: unknown): string | undefined {
  if (typeof value !== 'number' || value >= 1000) return undefined
  return (
    `\`${option}: ${value}\` is ${value} millisecond${value === 1 ? '' : 's'}. For seconds write \`${option}: '${value}s'\`; if ` +
    `milliseconds are meant, \`${option}: '${value}ms'\` says so without this warning.`
  )
}
