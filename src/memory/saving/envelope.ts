import { HeadgateError } from '../../core/errors.js'
import { badOption } from '../../core/options.js'

const { createHash, timingSafeEqual } = process.getBuiltinModule('node:crypto')

/** What saved bytes are of. */
export type SavedKind = 'memoryStore' | 'sharedStore'

const kinds: readonly SavedKind[] = ['memoryStore', 'sharedStore']

const magic = Buffer.from('headgate')

/** The form of what is saved. Whatever changes it makes this another number. */
const version = 1

/** What the bytes begin with: the magic, then a byte each of version, kind and order of bytes; length and digest follow. */
const At = { version: 8, kind: 9, order: 10, length: 16, digest: 24, payload: 56 } as const

const ownOrder = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 1 : 2

/** Numbers as bytes that tell what they are, and whether they are whole. */
export function sealed(kind: SavedKind, numbers: readonly Float64Array[]): Uint8Array {
  const length = numbers.reduce((sum, part) => sum + part.byteLength, 0)
  const bytes = Buffer.alloc(At.payload + length)
  magic.copy(bytes)
  bytes[At.version] = version
  bytes[At.kind] = kinds.indexOf(kind)
  bytes[At.order] = ownOrder
  bytes.writeDoubleLE(length, At.length)
  let at: number = At.payload
  for (const part of numbers) {
    bytes.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at)
    at += part.byteLength
  }
  digestOf(bytes).copy(bytes, At.digest)
  return bytes
}

/**
 * The numbers of saved bytes.
 * @throws HeadgateError `HEADGATE_BAD_SAVE` for what is damaged, cut off, or of another version or store;
 * `HEADGATE_BAD_OPTION` for what are no bytes
 */
export function unsealed(kind: SavedKind, given: unknown): Float64Array {
  if (!(given instanceof Uint8Array))
    throw badOption(
      'from',
      given,
      `give the bytes that \`save()\` of a ${kind} returned, as \`readFileSync\` has them`
    )
  // A copy: it stays as it is, and begins where numbers may.
  const bytes = Buffer.from(new Uint8Array(given).buffer)
  if (bytes.length < magic.length || !bytes.subarray(0, magic.length).equals(magic))
    throw refused('are not what `save()` returned')
  if (bytes.length < At.payload) throw refused('were cut off')
  if (bytes[At.version] !== version)
    throw refused(`are of version ${bytes[At.version]}, and this headgate knows version ${version}`)
  if (bytes[At.order] !== ownOrder) throw refused('are of a machine with another order of bytes')
  if (bytes.length < At.payload + bytes.readDoubleLE(At.length)) throw refused('were cut off')
  if (!timingSafeEqual(bytes.subarray(At.digest, At.payload), digestOf(bytes))) throw refused('are damaged')
  const of = kinds[bytes[At.kind]!]
  if (of !== kind) throw refused(`are of a ${of}, not of a ${kind}`)
  return new Float64Array(bytes.buffer, At.payload)
}

/** The error for saved bytes that are not as they were. */
export function refused(what: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_BAD_SAVE',
    `The saved bytes in \`from\` ${what}: give those of another save, or leave \`from\` out to begin with empty counters.`
  )
}

function digestOf(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes.subarray(0, At.digest)).update(bytes.subarray(At.payload)).digest()
}
