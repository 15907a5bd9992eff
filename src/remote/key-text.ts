import { shown } from '../core/options.js'
import { Breach } from './failure.js'

/** Numbers of a tier before its strategy's: the clock's last time, and how far steady time is ahead of it. */
export const timeNumbers = 2

/** What a text says: the numbers of each tier, then those of a block; and the marks. */
export interface Parts {
  readonly numbers: readonly number[][]
  readonly marks: ReadonlyMap<string, number>
}

/** What a key says that holds nothing. */
export const nothing: Parts = { numbers: [], marks: new Map() }

/**
 * Reads the text of a key.
 * @throws Breach for one that is not as it was written: as a new key, it would have its limit anew
 */
export function partsOf(text: string, tiers: number): Parts {
  const words = text.split(';').map((part) => (part === '' ? [] : part.split(' ')))
  const numbers = words.slice(0, tiers + 1).map((part) => part.map(numberOf))
  const marked = words[tiers + 1] ?? []
  const block = numbers[tiers]
  const isWhole =
    (words.length === tiers + 1 || (words.length === tiers + 2 && marked.length > 0)) &&
    numbers.every((part, i) => i === tiers || part.length >= timeNumbers) &&
    (block!.length === 0 || block!.length === 2) &&
    marked.length % 2 === 0
  if (!isWhole) throw damage(text)
  const marks = new Map<string, number>()
  for (let i = 0; i < marked.length; i += 2) marks.set(marked[i]!, numberOf(marked[i + 1]!))
  return { numbers, marks }

  function numberOf(word: string): number {
    const number = Number(word)
    if (String(number) !== word) throw damage(text)
    return number
  }
}

/** Those of a text; none of one that was never written. */
export function marksIn(text: string, tiers: number): Parts['marks'] {
  try {
    return partsOf(text, tiers).marks
  } catch (error) {
    if (error instanceof Breach) return new Map()
    throw error
  }
}

function damage(text: string): Breach {
  return new Breach(
    `the state of a key is ${shown(text)}, which was never written: \`reset\` forgets it`,
    false
  )
}
