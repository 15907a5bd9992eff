import { monotonicClock } from '../../../src/core/clock.js'
import type { AsyncStore, Clock } from '../../../src/index.js'
import { type AppSpec, type Framework, many, type Options } from '../../http/behaviour/harness.js'

/** A framework whose limiters all go by stores that are made here, on the clocks that they would have had. */
export function frameworkOn(framework: Framework, makeStore: (clock: Clock) => AsyncStore): Framework {
  const moved = (options: Options): Options => {
    const { now = monotonicClock, ...rest } = options
    // What is no clock is left for the limiter to refuse.
    if (options.store !== undefined || typeof now !== 'function') return options
    return { ...rest, store: makeStore(now) } as Options
  }
  // What has no clock of its own may have the plugin's or the module's, and so its store.
  const inheriting =
    (by: boolean) =>
    (options: Options): Options =>
      by && options.now === undefined ? options : moved(options)
  const { name } = framework
  const asRoute = inheriting(name === 'fastify' || name.startsWith('nest'))
  const asBeside = inheriting(name === 'fastify')
  const mapped = (options: Readonly<Record<string, Options>> | undefined, map: typeof asRoute) =>
    options && Object.fromEntries(Object.entries(options).map(([name, one]) => [name, map(one)]))
  const specOn = (spec: AppSpec): AppSpec =>
    ({
      ...spec,
      global: many(spec.global).map(moved),
      policies: mapped(spec.policies, asRoute),
      instances: mapped(spec.instances, asBeside),
      routes: spec.routes?.map((route) => ({
        ...route,
        limit: typeof route.limit === 'object' ? asRoute(route.limit) : route.limit,
        also: route.also?.map(asBeside)
      }))
    }) as AppSpec
  return {
    ...framework,
    hasStoreClock: true,
    build: (spec) => framework.build(specOn(spec)),
    buildPerRequest: (options) => framework.buildPerRequest(() => moved(options()))
  }
}
