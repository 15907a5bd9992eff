const units: readonly (readonly [name: string, ms: number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
  ['millisecond', 1]
]

/** A duration in words: 900000 is `15 minutes`, 86400000 `a day`. */
export function durationWords(ms: number): string {
  const [name, size] = units.find(([, one]) => ms % one === 0)!
  const count = ms / size
  if (count !== 1) return `${count} ${name}s`
  return name === 'hour' ? 'an hour' : `a ${name}`
}
