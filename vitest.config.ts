import { configDefaults, defineConfig } from 'vitest/config'

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
      }
    ]
  }
})
