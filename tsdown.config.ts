import { defineConfig } from 'tsdown'
import { luaText } from './.ci/lua-text.js'

/**
 * CommonJS has the code and the types. `faces/` has what stands beside it for ES modules, as it is: it hands on by name
 * what CommonJS has. So a process that loads both formats has one registry of strategies and one `HeadgateError`, a
 * program that sees both has one set of types, and the package carries nothing twice.
 */
export default defineConfig({
  entry: {
    index: 'src/index.ts',
    'express/index': 'src/express/index.ts',
    'fastify/index': 'src/fastify/index.ts',
    // Both entries of this one are faces: see faces/nest/load.cjs.
    'nest/main': 'src/nest/index.ts',
    'http/index': 'src/http/index.ts',
    'redis/index': 'src/redis/index.ts',
    'remote/index': 'src/remote/index.ts',
    'shared/index': 'src/shared/index.ts',
    'rules/index': 'src/rules/index.ts',
    // The command `headgate`, which has no types that anybody needs.
    'cli/main': 'src/cli/main.ts'
  },
  copy: { from: 'faces/**', to: 'dist', flatten: false },
  format: 'cjs',
  target: 'node20',
  platform: 'node',
  plugins: [luaText],
  sourcemap: true,
  dts: { sourcemap: false, compilerOptions: { stripInternal: true } },
  fixedExtension: false,
  hash: false,
  inputOptions: { checks: { pluginTimings: false } },
  outputOptions: (options, _, { cjsDts: isTypes }) => ({
    ...options,
    exports: 'named',
    sourcemap: !isTypes,
    // Of itself the bundler leaves CommonJS sloppy, where ES modules are not.
    strict: true,
    // The package has them.
    sourcemapExcludeSources: true,
    generatedCode: { symbols: false },
    // The declarations have them, where editors look.
    comments: isTypes,
    dynamicImportInCjs: false,
    ...(isTypes ? {} : { paths: nestPeers }),
    codeSplitting: {
      groups: [
        {
          name: isTypes ? 'internal.d' : 'internal',
          // With what limiters may be asked for remote stores, as it is read without one; and without the entry of `http`,
          // whose name the chunk of types would take.
          test: /[\\/]src[\\/](?!http[\\/]index)(core|memory|limiter|http|shed|hosts|decorators|remote[\\/]limiter-options)\b/
        },
        {
          name: (id) => (id.endsWith('.d.ts') ? 'remote/internal.d' : 'remote/internal'),
          test: /[\\/]src[\\/]remote[\\/]/
        },
        {
          name: (id) => (id.endsWith('.d.ts') ? 'rules/internal.d' : 'rules/internal'),
          test: /[\\/]src[\\/]rules[\\/](?!index)/
        }
      ]
    }
  })
})

function nestPeers(id: string): string {
  return id.replace(/^@nestjs\/(\w+)$/, './peers/$1.cjs')
}
