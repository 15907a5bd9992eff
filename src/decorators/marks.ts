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

/** What a standard decorator learns about its target. */
export interface DecoratorContext {
  readonly kind: string
  readonly name?: string | symbol | undefined
  readonly static?: boolean
  readonly private?: boolean
  /** What stands for the class before there is one; not all compilers give it. */
  readonly metadata?: object | undefined
  addInitializer?(initializer: (this: unknown) => void): void
}

/** Any class. */
export type Class<T = unknown> = abstract new (...args: never[]) => T

type Method = string | symbol
type Name = Method | undefined

/** All marks there are. */
interface Marks {
  /** Marks of classes by their prototype, which stays where a decorator puts another constructor in their place. */
  readonly classes: WeakMap<object, Mark>
  /** Marks of methods by the prototype that has the method, or by the metadata object of its class. */
  readonly methods: WeakMap<object, Map<Method, Mark>>
  /**
   * Marks of methods that a decorator of the standard was given: it sees the function before there is a class. Other
   * decorators may put another function in its place; where there is no metadata, the first instance tells the class.
   */
  readonly functions: WeakMap<object, Mark>
}

/**
 * Where they are kept, for all copies of this package: a bundler or a test runner may load several, and who reads a mark
 * may be of another one than who wrote it. The version is that of `Marks`.
 */
const known = Symbol.for('headgate.marks/1')

const realm = globalThis as { [known]?: Marks }
realm[known] ??= { classes: new WeakMap(), methods: new WeakMap(), functions: new WeakMap() }
const { classes, methods, functions } = realm[known]

/** Writes on the target of a decorator, of either kind. */
export function write(target: unknown, second: unknown, third: unknown, note: (mark: Mark) => void): void {
  if (typeof second === 'object' && second !== null) note(standardMark(target, second as DecoratorContext))
  // Decorators of parameters are told their index.
  else if (typeof third === 'number') throw misplaced(second as Name)
  else note(legacyMark(target, second as Name))
}

/** The mark of a class, its own or the nearest of those that it extends. */
export function classMark(target: Class): Mark | undefined {
  for (const prototype of prototypesOf(target)) {
    const mark = classes.get(prototype)
    if (mark !== undefined) return mark
  }
  return undefined
}

/** The mark of a method as the class has it: what a subclass overrides has only marks of its own. */
export function methodMark(target: Class, method: Method): Mark | undefined {
  let metadata: object | undefined
  for (const prototype of prototypesOf(target)) {
    // Of a class that a decorator has replaced by one that extends it, that one has the metadata.
    metadata = metadataOf(prototype) ?? metadata
    if (!Object.hasOwn(prototype, method)) continue
    const known = methods.get(prototype) ?? methods.get(metadata!)
    return known?.get(method) ?? functions.get(ownMethod(prototype, method)!)
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

function prototypesOf(target: Class): Iterable<object> {
  return chainOf(target.prototype)
}

function* chainOf(prototype: object): Iterable<object> {
  for (let one = prototype; one !== Object.prototype && one !== null; one = Object.getPrototypeOf(one))
    yield one
}

/** The function that a prototype has under a name. */
function ownMethod(prototype: object, name: Method): object | undefined {
  const value: unknown = Object.getOwnPropertyDescriptor(prototype, name)?.value
  return typeof value === 'function' ? value : undefined
}

const metadataSymbol = (Symbol as { metadata?: symbol }).metadata ?? Symbol.for('Symbol.metadata')

/** What decorators of the methods of this prototype were given as `metadata`. */
function metadataOf({ constructor: owner }: object): object | undefined {
  const value: unknown = Object.getOwnPropertyDescriptor(owner ?? {}, metadataSymbol)?.value
  return typeof value === 'object' && value !== null ? value : undefined
}

function standardMark(target: unknown, context: DecoratorContext): Mark {
  if (context.kind === 'class') return markIn(classes, (target as Class).prototype)
  if (context.kind !== 'method' || context.static || context.private) throw misplaced(context.name)
  const name = context.name!
  if (context.metadata !== undefined) {
    const mark = methodIn(context.metadata, name)
    functions.set(target as object, mark)
    return mark
  }
  const mark = markIn(functions, target as object)
  context.addInitializer?.(function (this: unknown) {
    tellClass(this as object, name, target as object, mark)
  })
  return mark
}

/**
 * Tells the class of an instance of the mark on a method that was decorated before there was a class.
 * @throws HeadgateError where it is not certain which method that is: another function is in its place
 */
function tellClass(instance: object, name: Method, decorated: object, mark: Mark): void {
  const holders = [...chainOf(Object.getPrototypeOf(instance))].filter((one) => ownMethod(one, name))
  if (holders.some((one) => methods.get(one)?.get(name) === mark)) return
  const isOpen = (one: object) => !methods.get(one)?.has(name) && !functions.has(ownMethod(one, name)!)
  const exact = holders.find((one) => ownMethod(one, name) === decorated)
  const [owner, another] = exact === undefined ? holders.filter(isOpen) : [exact]
  if (owner === undefined || another !== undefined)
    throw new HeadgateError(
      'HEADGATE_MISUSE',
      `Another decorator has replaced \`${String(name)}\`, so that its \`@Limit\` is lost: write \`@Limit\` above it.`
    )
  methodsIn(owner).set(name, mark)
}

function legacyMark(target: unknown, given: Name | number): Mark {
  // Some compilers give the name of a method `7() {}` as a number.
  const name = typeof given === 'number' ? String(given) : given
  if (typeof target === 'function' && name === undefined && target.prototype)
    return markIn(classes, target.prototype)
  if (typeof target !== 'object' || target === null || name === undefined) throw misplaced(name)
  if (ownMethod(target, name) === undefined) throw misplaced(name)
  return methodIn(target, name)
}

function markIn(marks: WeakMap<object, Mark>, target: object): Mark {
  const mark = marks.get(target) ?? { limits: [] }
  marks.set(target, mark)
  return mark
}

function methodIn(owner: object, name: Method): Mark {
  const marks = methodsIn(owner)
  const mark = marks.get(name) ?? { limits: [] }
  marks.set(name, mark)
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
