import { readFileSync } from 'node:fs'
import { configDefaults, defineConfig, type TestProjectConfiguration } from 'vitest/config'

const redis = 'test/redis/**/*.test.ts'

export default defineConfig({
  test: {
    testTimeout: 20_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'headgate',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, redis]
        }
      },
      // Only a run with files of this project starts servers.
      {
        extends: true,
        test: { name: 'redis', include: [redis], globalSetup: 'test/redis/support/global-setup.ts' }
      },
      onNest(10, 'fastify'),
      onNest(11, 'express')
    ]
  }
})

/**
 * The tests of headgate/nest on an earlier version of Nest; its GraphQL packages are of the newest only. The long suite
 * of HTTP behaviour runs over one platform; the newest version has it over both.
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
      include: ['test/nest/**/*.test.ts'],
      exclude: [...configDefaults.exclude, 'test/nest/graphql/**', `test/nest/behaviour/${other}.test.ts`],
      globalSetup: 'test/nest/versions/install.ts'
    }
  }
}
