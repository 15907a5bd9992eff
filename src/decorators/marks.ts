import { HeadgateError } from '../core/errors.js'

/** What `@Limit` was given: options, or the name of a policy. */
export type Said = object | string

/** What the decorators on one class or method say together. */
export interface Mark {
  /** In the order in which they are written. */
  readonly limits: Said[]
  /** `true` for `@Limit.skip()`, `false` for `@Limit.skip(false)`, which undoes the class's. */
  skip?: boolean
}

/** What a decorator of the standard is told of its target. */
export interface DecoratorContext {
  readonly kind: string
  readonly name?: string | symbol | undefined
  readonly static?: boolean
  readonly private?: boolean
  addInitializer?(initializer: (this: unknown) => void): void
}

/** Any class. */
export type Class<T = unknown> = abstract new (...args: never[]) => T

type Method = string | symbol
type Name = Method | undefined

const classes = new WeakMap<object, Mark>()
/** Marks of methods by the object that has the method: the prototype of a class. */
const methods = new WeakMap<object, Map<Method, Mark>>()
/**
 * Marks of methods that a decorator of the standard was given: it sees the function before there is a class. Other
 * decorators may put another function in its place; an initializer then tells the class, at the first instance.
 */
const functions = new WeakMap<object, Mark>()

/** Writes on the target of a decorator, of either kind. */
export function write(target: unknown, second: unknown, note: (mark: Mark) => void): void {
  if (typeof second === 'object' && second !== null) note(standardMark(target, second as DecoratorContext))
  else note(legacyMark(target, second as Name))
}

/** The mark of a class, its own or the nearest of those that it extends. */
export function classMark(target: Class): Mark | undefined {
  for (let one: object | null = target; one !== null; one = Object.getPrototypeOf(one)) {
    const mark = classes.get(one)
    if (mark !== undefined) return mark
  }
  return undefined
}

/** The mark of a method as the class has it: what a subclass overrides has only marks of its own. */
export function methodMark(target: Class, method: Method): Mark | undefined {
  for (const prototype of prototypesOf(target)) {
    if (!Object.hasOwn(prototype, method)) continue
    const value: unknown = Object.getOwnPropertyDescriptor(prototype, method)!.value
    return methods.get(prototype)?.get(method) ?? functions.get(value as object)
  }
  return undefined
}

/** The names of all methods that a class has, inherited ones too. */
export function methodsOf(target: Class): ReadonlySet<Method> {
  const names = new Set<Method>()
  for (const prototype of prototypesOf(target))
    for (const name of Reflect.ownKeys(prototype)) {
      const { value } = Object.getOwnPropertyDescriptor(prototype, name)!
      if (typeof value === 'function' && name !== 'constructor') names.add(name)
    }
  return names
}

function* prototypesOf(target: Class): Iterable<object> {
  const { prototype } = target
  for (
    let one: object = prototype;
    one !== Object.prototype && one !== null;
    one = Object.getPrototypeOf(one)
  )
    yield one
}

function standardMark(target: unknown, context: DecoratorContext): Mark {
  if (context.kind === 'class') return markIn(classes, target as object)
  if (context.kind !== 'method' || context.static || context.private) throw misplaced(context.name)
  const mark = markIn(functions, target as object)
  const { name } = context
  context.addInitializer?.(function (this: unknown) {
    const owner = ownerOf(this as object, name!)
    if (owner !== null && methods.get(owner)?.get(name!) === undefined) methodsIn(owner).set(name!, mark)
  })
  return mark
}

function legacyMark(target: unknown, name: Name): Mark {
  if (typeof target === 'function' && name === undefined) return markIn(classes, target)
  if (typeof target !== 'object' || target === null || name === undefined) throw misplaced(name)
  if (typeof Object.getOwnPropertyDescriptor(target, name)?.value !== 'function') throw misplaced(name)
  const marks = methodsIn(target)
  const mark = marks.get(name) ?? { limits: [] }
  marks.set(name, mark)
  return mark
}

/** The prototype from which an instance has a method. */
function ownerOf(instance: object, name: Method): object | null {
  let owner: object | null = Object.getPrototypeOf(instance)
  while (owner !== null && !Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner)
  return owner
}

function markIn(marks: WeakMap<object, Mark>, target: object): Mark {
  const mark = marks.get(target) ?? { limits: [] }
  marks.set(target, mark)
  return mark
}

function methodsIn(prototype: object): Map<Method, Mark> {
  const marks = methods.get(prototype) ?? new Map<Method, Mark>()
  methods.set(prototype, marks)
  return marks
}

function misplaced(name: Name): HeadgateError {
  const what = name === undefined ? 'this' : `\`${String(name)}\``
  return new HeadgateError(
    'HEADGATE_MISUSE',
    `\`@Limit\` stands on ${what}, which nothing could call as a handler: put it on a class or on a method of its instances.`
  )
}
