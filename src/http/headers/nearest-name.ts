const LONGEST = 64

/** The known name with the fewest edits from `name`, regardless of case; the first one on a tie. */
export function nearestName(name: string, known: readonly string[]): string {
  const wanted = name.slice(0, LONGEST).toLowerCase()
  let nearest = ''
  let fewest = Infinity
  for (const candidate of known) {
    const count = edits(wanted, candidate.toLowerCase())
    if (count < fewest) {
      fewest = count
      nearest = candidate
    }
  }
  return nearest
}

/** A refused value as a message shows it: short text in quotes, numbers as they are, else the type. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, LONGEST))
  return value === null || typeof value === 'number' ? String(value) : typeof value
}

/** Levenshtein distance. */
function edits(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min(replaced, above[j]! + 1, row[j - 1]! + 1))
    }
    above = row
  }
  return above[b.length]!
}
