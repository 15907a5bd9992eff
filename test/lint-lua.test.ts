import { describe, expect, it } from 'vitest'
import { problemsOf } from '../.ci/lint-lua.js'

describe('the linter of Lua', () => {
  it.each([
    ['local time = redis.call("TIME")\nreturn tonumber(time[1])', []],
    ['-- luacheck: read globals floor\nlocal function half(n)\n  return floor(n / 2)\nend\nreturn half', []],
    ['local x\nx =', ["2: <expression> expected near '<eof>'"]],
    ['return os.time()', ['1: os is no global of Redis']],
    ['count = 1', ['1: count is set as a global', '1: count is no global of Redis']],
    ['local function f()\n  local unused = 1\nend\nreturn f', ['2: unused is not used']],
    ['-- luacheck: read globals floor\nreturn 1', ['1: floor is declared and not used']]
  ])('says of %j what is wrong', (text, problems) => {
    expect(problemsOf(text)).toEqual(problems)
  })
})
