import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig, type TestProjectConfiguration } from 'vitest/config'
import { luaText } from './.ci/lua-text.js'

const redis = 'test/redis/**/*.test.ts'
const packaging = 'test/packaging/**/*.test.ts'
/** Those of Redis that no neighbour can make late: their stores have a deadline of seconds, and no server fails. */
const patientRedis =
  'test/redis/{batching,behaviour-*,cases,clear,client-types,clients,clock-steps,connections,custom,differential,lease-bound,nest,plain-takes,sliding-log,store-suite,vectors}.test.ts'
/** Those of Redis that start many processes, which would make every neighbour late. */
const crowds = 'test/redis/permits/{hammer,processes}.test.ts'
/** What fills the event loop: what runs beside it would be taken for a slow server. */
const busy = 'test/redis/faults/busy.test.ts'
/** Files that compare how long something takes, or have threads on all cores. */
const timed = [
  'test/http/linear-time.test.ts',
  'test/memory/memory.test.ts',
  'test/shared/killed.test.ts',
  'test/shared/threads.test.ts'
]

/** `--mode all` is the long form of the tests. */
export default defineConfig(({ mode }) => ({
  plugins: [luaText],
  test: {
    // Tests have bounds of their own for what must be quick: this is for what hangs, on a machine that does more.
    testTimeout: 60_000,
    // Tests provoke warnings and look at each that they provoke.
    execArgv: ['--no-warnings'],
    hookTimeout: 60_000,
    env: { TEST_ALL: mode === 'all' ? '1' : '' },
    // Two even on two cores, as files often wait for npm, a compiler or a socket.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        extends: true,
        test: {
          name: 'headgate',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, redis, packaging, ...timed]
        }
      },
      {
        extends: true,
        test: {
          name: 'packaging',
          include: [packaging],
          globalSetup: 'test/packaging/global-setup.ts'
        }
      },
      onNest(10, 'fastify'),
      onNest(11, 'express'),
      onRedis('redis', { include: [patientRedis] }),
      // What follows runs after all the others: a compiler beside it would use up its deadlines.
      { extends: true, test: { name: 'timed', include: timed, fileParallelism: false } },
      onRedis('redis timed', {
        include: [redis],
        exclude: [patientRedis, crowds, busy],
        sequence: { groupOrder: 1 }
      }),
      onRedis('redis crowds', { include: [crowds], sequence: { groupOrder: 2 } }),
      onRedis('redis busy', { include: [busy], sequence: { groupOrder: 3 } })
    ]
  }
}))

/** Only a run with files of such a project starts servers. */
function onRedis(name: string, { exclude = [], ...files }: TestFiles): TestProjectConfiguration {
  const globalSetup = 'test/redis/support/global-setup.ts'
  return {
    extends: true,
    test: { name, ...files, exclude: [...configDefaults.exclude, ...exclude], globalSetup }
  }
}

interface TestFiles {
  readonly include: string[]
  readonly exclude?: readonly string[]
  /** Those of a later group run after all of an earlier one. */
  readonly sequence?: { readonly groupOrder: number }
}

/**
 * The tests of headgate/nest on an earlier version of Nest; its GraphQL packages are of the newest only. Of the long suite
 * of HTTP behaviour there is what touches the host, over one platform; the newest version has all of it over both.
 */
function onNest(version: number, platform: 'express' | 'fastify'): TestProjectConfiguration {
  const other = platform === 'express' ? 'fastify' : 'express'
  const folder = new URL(`test/nest/versions/${version}/`, import.meta.url)
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
  const aliases = Object.keys(dependencies).map((name) => [
    name,
    new URL(`node_modules/${name}`, folder).pathname
  ])
  return {
    extends: true,
    resolve: { alias: Object.fromEntries(aliases) },
    test: {
      name: `nest ${version}`,
      env: { IS_EARLIER_NEST: '1' },
      include: ['test/nest/**/*.test.ts'],
      exclude: [...configDefaults.exclude, 'test/nest/graphql/**', `test/nest/behaviour/${other}.test.ts`],
      globalSetup: 'test/nest/versions/install.ts'
    }
  }
}
