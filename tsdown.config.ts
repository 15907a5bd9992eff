import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { defineConfig } from 'tsdown'

/**
 * CommonJS has the code and the types, and each ES module entry re-exports it by name: so a process that loads both
 * formats has one registry of strategies and one `HeadgateError`, a program that sees both has one set of types,
 * and the package carries nothing twice.
 */
export default defineConfig({
  entry: ['', 'express/', 'fastify/', 'redis/', 'nest/'].map((folder) => `src/${folder}index.ts`),
  format: 'cjs',
  target: 'node20',
  platform: 'node',
  dts: { compilerOptions: { stripInternal: true } },
  fixedExtension: false,
  hash: false,
  // Lines and the names of functions stay, for stack traces; the names of variables need not.
  minify: { compress: false, mangle: { keepNames: true }, codegen: { removeWhitespace: false } },
  inputOptions: { checks: { pluginTimings: false } },
  plugins: [
    {
      name: 'builtins',
      // A bundler that turns this into an ES module has no `require` to give it: esbuild's throws.
      renderChunk: (code) => code.replaceAll('require("node:', 'process.getBuiltinModule("node:')
    },
    {
      name: 'without-regions',
      renderChunk: (code) => code.replace(/^\/\/#(end)?region.*\n/gm, '')
    }
  ],
  outputOptions: {
    exports: 'named',
    // Test runners that load CommonJS have no `import()`.
    dynamicImportInCjs: false,
    // The declarations have them, where editors look.
    comments: false,
    codeSplitting: {
      groups: [
        {
          name: (id) => (id.endsWith('.d.ts') ? 'internal.d' : 'internal'),
          test: /[\\/]src[\\/](core|stores|http|decorators)[\\/]|[\\/](port|trust|trust-setting)\.ts$/
        }
      ]
    }
  },
  hooks: {
    async 'build:done'({ chunks }) {
      for (const chunk of chunks)
        if (chunk.type === 'chunk' && chunk.isEntry && chunk.fileName.endsWith('.cjs'))
          await writeModule(join(chunk.outDir, chunk.fileName), chunk.exports)
    }
  }
})

/** Writes the ES module beside a CommonJS entry. The default of an adapter is its `rateLimit`. */
async function writeModule(entry: string, names: readonly string[]): Promise<void> {
  const from = `from './${basename(entry)}'\n`
  const isAdapter = names.includes('default')
  const exported = names.map((name) => (name === 'default' ? 'rateLimit as default' : name))
  const types = isAdapter ? `export { rateLimit as default } ${from}` : ''
  await writeFile(entry.replace(/\.cjs$/, '.js'), `export { ${exported.join(', ')} } ${from}`)
  await writeFile(entry.replace(/\.cjs$/, '.d.ts'), `export * ${from}${types}`)
}
