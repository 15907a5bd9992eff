import { expect } from 'vitest'
import type { ErrorCode } from '../../src/index.js'

/** An error of headgate that names all of these. */
export const naming = (code: ErrorCode, ...parts: string[]) =>
  expect.objectContaining({
    name: 'HeadgateError',
    code,
    message: expect.stringMatching(new RegExp(parts.map((part) => `(?=[^]*${quote(part)})`).join('')))
  })
const quote = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
