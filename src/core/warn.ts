/** Says something as a process warning. Callers see to it that they say it once. */
export function warn(code: string, message: string): void {
  process.emitWarning(message, { type: 'HeadgateWarning', code })
}

const saidShort = new Set<string>()

/** Says once for each value that a number below 1000 is milliseconds, as most of them are meant as seconds. */
export function warnOfShort(option: string, value: unknown): void {
  if (typeof value !== 'number' || value >= 1000) return
  const written = `\`${option}: ${value}\``
  if (saidShort.has(written)) return
  saidShort.add(written)
  warn(
    'HEADGATE_SHORT_WINDOW',
    `${written} is ${value} millisecond${value === 1 ? '' : 's'}. For seconds write \`${option}: '${value}s'\`; if ` +
      `milliseconds are meant, \`${option}: '${value}ms'\` says so without this warning.`
  )
}
