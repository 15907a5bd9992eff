const { createHash } = process.getBuiltinModule('node:crypto')

/*
 * How keys are written. What a client or a user chooses stands as it is, unless it could be taken for one of these:
 *
 * - `ip:203.0.113.7` stands for a request without the header or user that its key names;
 * - `preflight:203.0.113.7` stands for the CORS preflights of an address;
 * - `sha256:…` stands for what is longer than 256 characters, so that stores hold and compare a bounded text;
 * - `text:…` stands for a value that begins like one of these, or has characters that cannot be printed. In it each of
 *   those characters, and `%`, is `%` and four hexadecimal digits.
 *
 * So no two values have one key, and no value has the key of an address.
 */
const longestKey = 256

/** What cannot be printed, or changes how the rest shows: controls, formats, ends of lines and halves of surrogate pairs. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u
const escapedInText = /[%\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

const reserved = /^(?:ip|preflight|sha256|text):/
/** Where there is no fallback to an address. */
const reservedOfFunctions = /^(?:preflight|sha256|text):/

/** The key of a value that a request or a user has. */
export function valueKey(value: string): string {
  return bounded(reserved.test(value) || unprintable.test(value) ? escaped(value) : value)
}

/** The key of what a key function returned. */
export function functionKey(value: string): string {
  return bounded(reservedOfFunctions.test(value) || unprintable.test(value) ? escaped(value) : value)
}

/** The key of a request that lacks what its key names; `address` is an address as keys have it. */
export function fallbackKey(address: string): string {
  return `ip:${address}`
}

/** The key of preflights; `address` is an address as keys have it. */
export function preflightKey(address: string): string {
  return `preflight:${address}`
}

/** The key of several parts, with their lengths, so that no two lists have one key. */
export function joinedKey(parts: readonly string[]): string {
  return bounded(parts.map((part) => `${part.length}:${part}`).join(''))
}

/** True for a text that can be a key as it stands. */
export function isKeyText(text: string): boolean {
  return text.length <= longestKey && !unprintable.test(text)
}

function escaped(value: string): string {
  return `text:${value.replace(escapedInText, (character) => character.split('').map(hex).join(''))}`
}

/** One half of a surrogate pair, or a character without. */
function hex(unit: string): string {
  return `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function bounded(key: string): string {
  return key.length <= longestKey ? key : `sha256:${createHash('sha256').update(key).digest('base64url')}`
}
