import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { defineConfig } from 'tsdown'
import { lines, luaText, plainCommonjs } from './tsdown.plugins.js'

/**
 * CommonJS has the code and the types, and each ES module entry hands it on by name: so a process that loads both
 * formats has one registry of strategies and one `HeadgateError`, a program that sees both has one set of types,
 * and the package carries nothing twice.
 */
export default defineConfig({
  entry: ['', 'express/', 'fastify/', 'nest/', 'redis/', 'shared/'].map((folder) => `src/${folder}index.ts`),
  format: 'cjs',
  target: 'node20',
  platform: 'node',
  dts: { compilerOptions: { stripInternal: true } },
  fixedExtension: false,
  hash: false,
  // The names of functions and classes stay, for stack traces, and `lines` for each of them.
  minify: {
    compress: { target: 'node20', keepNames: { function: true, class: true } },
    mangle: { keepNames: true },
    codegen: true
  },
  inputOptions: { checks: { pluginTimings: false } },
  plugins: [luaText(), plainCommonjs(), lines()],
  outputOptions: (options, _, { cjsDts: isTypes }) => ({
    ...options,
    exports: 'named',
    generatedCode: { symbols: false },
    // The declarations have them, where editors look.
    comments: false,
    minifyInternalExports: !isTypes,
    codeSplitting: {
      groups: [
        {
          name: (id) => (id.endsWith('.d.ts') ? 'internal.d' : 'internal'),
          test: /[\\/]src[\\/](core|memory|http|hosts|decorators)[\\/]/
        }
      ]
    }
  }),
  hooks: {
    async 'build:done'({ chunks }) {
      for (const chunk of chunks) {
        if (chunk.type !== 'chunk') continue
        const file = join(chunk.outDir, chunk.fileName)
        if (file.endsWith('.d.cts')) await writeFile(file, chunk.code.replace(/^\/\/#(end)?region.*\n/gm, ''))
        else if (chunk.isEntry && chunk.imports.some(isPeer)) await writeFactory(file, chunk)
        else if (chunk.isEntry) await writeModule(file, chunk.exports)
      }
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

/**
 * Writes an entry that loads peers. They may be ES modules, which not all that runs CommonJS can `require`: Jest cannot.
 * So the code becomes a function of them, in a file beside the entries of both formats. Each loads them in its own way,
 * and what the first makes of them the other has too.
 */
async function writeFactory(entry: string, chunk: { code: string; exports: string[] }): Promise<void> {
  const now = new Set<string>()
  const later = new Set<string>()
  const body = chunk.code.replace(/\b(require|import)\("([^"]+)"\)/g, (call, kind, name) => {
    if (!isPeer(name)) return call
    ;(kind === 'require' ? now : later).add(name)
    return kind === 'require' ? `peers['${name}']` : `peers['${name}']()`
  })
  const factory = `let made
exports.make = (peers) => (made ??= define({}, peers))
function define(exports, peers) {
${body}
return exports
}
`
  await writeFile(join(entry, '../factory.cjs'), factory)
  await writeFile(entry, commonjsCaller(chunk.exports, [...now], [...later]))
  await writeFile(entry.replace(/\.cjs$/, '.js'), moduleCaller(chunk.exports, [...now], [...later]))
  await writeFile(entry.replace(/\.cjs$/, '.d.ts'), `export * from './${basename(entry)}'\n`)
}

// Bundlers warn only of a missing package whose failure is caught where it is loaded.
function commonjsCaller(names: readonly string[], now: readonly string[], later: readonly string[]): string {
  const peers = [
    ...now.map((name) => `'${name}': require('${name}')`),
    ...later.map((name) => `'${name}'() { try { return require('${name}') } catch { return {} } }`)
  ]
  const exported = names.map((name) => `exports.${name} = made.${name}\n`)
  return `const made = require('./factory.cjs').make({\n${peers.join(',\n')}\n})\n${exported.join('')}`
}

function moduleCaller(names: readonly string[], now: readonly string[], later: readonly string[]): string {
  const imports = now.map((name, at) => `import * as peer${at} from '${name}'\n`)
  const peers = [
    ...now.map((name, at) => `'${name}': peer${at}`),
    ...later.map((name) => `'${name}': () => import('${name}').catch(() => ({}))`)
  ]
  return `${imports.join('')}import { make } from './factory.cjs'
export const { ${names.join(', ')} } = make({\n${peers.join(',\n')}\n})\n`
}

function isPeer(name: string): boolean {
  return name.startsWith('@nestjs/')
}
