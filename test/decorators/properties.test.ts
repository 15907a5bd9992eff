import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Limit, type LimitDecorator, limitsOf } from '../../src/index.js'

/** What a target is marked with: rules in written order, and a skip or its undoing. */
const rule = fc.record({ limit: fc.nat(99), window: fc.constantFrom('1s', '1m', '1h') })
const marks = fc.record({
  rules: fc.array(rule, { maxLength: 3 }),
  skip: fc.constantFrom(undefined, true, false)
})
type Marks = Readonly<{ rules: readonly object[]; skip: boolean | undefined }>

const names = ['list', 'create', 'toString', '__proto__']
/** A method is not limited and skipped at once. */
const methodMarks = marks.filter(({ rules, skip }) => skip !== true || rules.length === 0)
const controller = fc.record({ own: marks, methods: fc.array(methodMarks, { minLength: 4, maxLength: 4 }) })

function decoratorsOf({ rules, skip }: Marks): LimitDecorator[] {
  const limits = rules.map((one) => Limit(one))
  return skip === undefined ? limits : [...limits, Limit.skip(skip)]
}

/** A class that is decorated as compilers do it: methods first, decorators from the last to the first. */
function classOf(own: Marks, methods: readonly Marks[]) {
  class Reports {}
  for (const [i, name] of names.entries()) {
    const descriptor = { value() {}, writable: true, configurable: true }
    Object.defineProperty(Reports.prototype, name, descriptor)
    for (const decorate of decoratorsOf(methods[i]!).reverse()) decorate(Reports.prototype, name, descriptor)
  }
  for (const decorate of decoratorsOf(own).reverse()) decorate(Reports)
  return Reports
}

/** By the definition: a method's word stands before its class's, and several rules are tiers. */
function limitOf(own: Marks, { rules, skip }: Marks): unknown {
  const together = (all: readonly object[]) => (all.length > 1 ? { limits: all } : all[0])
  if (skip === true) return false
  if (rules.length > 0) return together(rules)
  return own.skip === true && skip === undefined ? false : together(own.rules)
}

it('limits each method by what it and its class say', () => {
  fc.assert(
    fc.property(controller, ({ own, methods }) => {
      const expected = names
        .map((name, i) => [name, limitOf(own, methods[i]!)] as const)
        .filter(([, limit]) => limit !== undefined)
      expect(Object.entries(limitsOf(classOf(own, methods)))).toEqual(expected)
    })
  )
})

it('gives one object to exactly those methods that share the limit of their class', () => {
  fc.assert(
    fc.property(controller, ({ own, methods }) => {
      const limits = new Map(Object.entries(limitsOf(classOf(own, methods))))
      const shares = (i: number) => methods[i]!.rules.length === 0
      for (const [i, one] of names.entries())
        for (const [j, other] of names.entries())
          if (i !== j && typeof limits.get(one) === 'object' && typeof limits.get(other) === 'object')
            expect(limits.get(one) === limits.get(other)).toBe(shares(i) && shares(j))
    })
  )
})

it('keeps classes with the same names apart', () => {
  fc.assert(
    fc.property(controller, controller, (first, second) => {
      const [one, other] = [first, second].map(({ own, methods }) => classOf(own, methods))
      const before = Object.entries(limitsOf(one!))
      expect(Object.entries(limitsOf(other!))).toEqual(
        Object.entries(limitsOf(classOf(second.own, second.methods)))
      )
      expect(Object.entries(limitsOf(one!))).toEqual(before)
    })
  )
})
