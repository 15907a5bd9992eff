import type { AnswerWatch } from '../http/host.js'

/** Methods that answer, by name; each with what is made of its arguments. */
export type Answering = Readonly<Record<string, (args: readonly unknown[]) => readonly unknown[]>>

export const asGiven = (args: readonly unknown[]): readonly unknown[] => args

/** Looks out for calls of a response's methods that answer it, those of plugins among them. */
export function watchCalls(response: object, answering: Answering): AnswerWatch {
  const methods = response as Record<string, unknown>
  let hasBegun = false
  const watch = (name: string) => {
    const isOwn = Object.hasOwn(methods, name)
    const method = methods[name] as (...args: unknown[]) => unknown
    const watching = (...args: unknown[]) => {
      hasBegun = true
      return method.apply(response, [...answering[name]!(args)])
    }
    methods[name] = watching
    return () => {
      // Somebody may have put another in its place, around this one.
      if (methods[name] !== watching) return
      if (isOwn) methods[name] = method
      else delete methods[name]
    }
  }
  const watched = Object.keys(answering).filter((name) => typeof methods[name] === 'function')
  const restores = watched.map(watch)
  return {
    hasBegun: () => hasBegun,
    stop() {
      for (const restore of restores) restore()
    }
  }
}
