const { randomBytes } = process.getBuiltinModule('node:crypto')

/** Permits that were taken together, as a backend knows them. */
export interface PermitId {
  /** Nobody else's, in any process: printable ASCII without spaces. */
  readonly permit: string
  readonly cost: number
}

/** What the ids of this process begin with. */
const processId = randomBytes(9).toString('base64url')
let numbers = 0

/** A number that no other permits of this process have. */
export function nextNumber(): number {
  return ++numbers
}

/** What a store knows the permits of a number by. */
export function idOf(number: number): string {
  return `${processId}:${number.toString(36)}`
}

/** The number behind an id of this process. */
export function numberOf(permit: string): number {
  return Number.parseInt(permit.slice(processId.length + 1), 36)
}
