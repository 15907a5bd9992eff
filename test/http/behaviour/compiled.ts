import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** `src` as JavaScript, for processes of their own: a folder that finds the packages of this one. */
export function compiled(): { url(path: string): string; remove(): void } {
  const cache = join(root, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'headgate-test-'))
  const source = join(root, 'src')
  for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts')) continue
    const from = join(entry.parentPath, entry.name)
    const to = join(folder, relative(source, from).replace(/\.ts$/, '.js'))
    mkdirSync(dirname(to), { recursive: true })
    const { outputText } = ts.transpileModule(readFileSync(from, 'utf8'), {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2022,
        verbatimModuleSyntax: true
      }
    })
    writeFileSync(to, outputText)
  }
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  return {
    url: (path) => pathToFileURL(join(folder, path)).href,
    remove: () => rmSync(folder, { recursive: true, force: true })
  }
}
