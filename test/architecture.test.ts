import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

/** What may be imported from where. */
interface Room {
  /** Folders and files of `src`. */
  readonly inside: readonly string[]
  /** Packages; `node:*` for what Node has built in. */
  readonly packages?: readonly string[]
  /** Packages of which nothing but types may be used. */
  readonly types?: readonly string[]
}

/** The folders of `src`, and the root. */
const rooms: Readonly<Record<string, Room>> = {
  core: { inside: ['core'], packages: ['ms'] },
  memory: { inside: ['core', 'memory'], packages: ['node:*'] },
  shared: { inside: ['core', 'memory', 'shared'], packages: ['node:*'] },
  remote: { inside: ['core', 'memory', 'remote'], packages: ['node:*'] },
  redis: { inside: ['core', 'remote', 'redis'], packages: ['node:*'] },
  limiter: { inside: ['core', 'memory', 'remote', 'limiter'] },
  http: { inside: ['core', 'memory', 'limiter', 'http'], packages: ['node:*', 'ipaddr.js'] },
  shed: { inside: ['core', 'http', 'shed'], packages: ['node:*'] },
  hosts: { inside: ['core', 'http', 'hosts'], packages: ['node:*'], types: ['express', 'fastify'] },
  express: { inside: ['core', 'http', 'shed', 'hosts', 'express'], packages: ['node:*'], types: ['express'] },
  fastify: {
    inside: ['core', 'http', 'shed', 'hosts', 'fastify'],
    packages: ['node:*', 'fastify-plugin'],
    types: ['fastify']
  },
  rules: { inside: ['core', 'limiter', 'http', 'rules'], packages: ['node:*', 'yaml'] },
  cli: { inside: ['core', 'rules', 'cli'], packages: ['node:*'] },
  decorators: { inside: ['core', 'http', 'decorators'] },
  nest: {
    inside: ['core', 'http', 'shed', 'hosts', 'decorators', 'nest'],
    packages: ['node:*', '@nestjs/common', '@nestjs/core', '@nestjs/microservices', '@nestjs/websockets'],
    types: ['fastify']
  },
  'index.ts': { inside: ['core', 'memory', 'limiter', 'http', 'hosts', 'decorators'] }
}

const builtin = 'process.getBuiltinModule'
const root = resolve(import.meta.dirname, '..')
const src = join(root, 'src')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** An arrow from a file of `src` to another or to a package. */
interface Arrow {
  readonly from: string
  readonly to: string
  readonly isInside: boolean
  /** True where nothing is left of it at run time. */
  readonly isType: boolean
  /** True for what `process` is asked for. */
  readonly isCall: boolean
}

describe('the arrows', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const arrows = files.flatMap(arrowsFrom)

  it('start in rooms that are known', () => {
    expect(files.filter((file) => !(roomOf(file) in rooms))).toEqual([])
    expect(arrows.length).toBeGreaterThan(files.length)
  })

  it('point the right way', () => {
    const wrong = arrows.filter((arrow) => !isAllowed(arrow))
    expect(wrong.map(({ from, to }) => `${from} -> ${to}`)).toEqual([])
  })

  // Of CommonJS in a bundle that is an ES module, an import would be a `require` that is not there: esbuild's throws.
  it('lead to what Node has built in by asking `process` for it', () => {
    const imports = arrows.filter(({ to, isType, isCall }) => to.startsWith('node:') && !isType && !isCall)
    expect(imports.map(({ from, to }) => `${from} -> ${to}`)).toEqual([])
  })

  it('lead from the root to no optional peer at run time', () => {
    const loaded = loadedWith('index.ts', arrows)
    expect(loaded).toContain('core/limiter.ts')
    expect(Object.keys(manifest.peerDependenciesMeta).filter((peer) => loaded.has(peer))).toEqual([])
  })

  it('lead out of the package to what the manifest declares, all of it', () => {
    const { dependencies, peerDependencies } = manifest
    const outside = arrows.filter(({ to, isInside }) => !isInside && !to.startsWith('node:'))
    const used = new Set(outside.map(({ to }) => to))
    expect([...used].sort()).toEqual(Object.keys({ ...dependencies, ...peerDependencies }).sort())
  })
})

describe('the subpaths', () => {
  const folders = Object.keys(manifest.exports)
    .filter((path) => path !== '.' && !path.endsWith('.json'))
    .map((path) => path.slice('./'.length))

  it('are the folders that have an entry', () => {
    expect(folders).toEqual(readdirSync(src).filter((name) => existsSync(join(src, name, 'index.ts'))))
  })

  it.each(['', ...folders])('lead to the folder of the same name: %j', (folder) => {
    const entry = `./${join('dist', folder, 'index')}`
    expect(manifest.exports[folder === '' ? '.' : `./${folder}`]).toEqual({
      import: { types: `${entry}.d.ts`, default: `${entry}.js` },
      require: { types: `${entry}.d.cts`, default: `${entry}.cjs` }
    })
    const classic = folder === '' ? [manifest.types] : manifest.typesVersions['*'][folder]
    expect(classic).toEqual([`${entry}.d.cts`])
  })
})

function roomOf(file: string): string {
  return file.split('/')[0]!
}

function isAllowed({ from, to, isInside, isType }: Arrow): boolean {
  const { inside = [], packages = [], types = [] } = rooms[roomOf(from)] ?? {}
  if (isInside) return inside.includes(roomOf(to))
  if (to.startsWith('node:')) return packages.includes('node:*')
  return [...packages, ...(isType ? types : [])].includes(to)
}

function arrowsFrom(from: string): Arrow[] {
  const path = join(src, from)
  const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest)
  const arrows: Arrow[] = []
  const add = (target: ts.Node, isType: boolean, isCall = false) => {
    const { text } = target as ts.StringLiteralLike
    const isInside = text.startsWith('.')
    const to = isInside ? join(dirname(from), text.replace(/\.js$/, '.ts')) : text
    arrows.push({ from, to, isInside, isType, isCall })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, node.importClause?.isTypeOnly === true)
    else if (ts.isExportDeclaration(node) && node.moduleSpecifier) add(node.moduleSpecifier, node.isTypeOnly)
    else if (ts.isImportTypeNode(node)) add((node.argument as ts.LiteralTypeNode).literal, true)
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      add(node.arguments[0]!, false)
    else if (ts.isCallExpression(node) && node.expression.getText(file) === builtin)
      add(node.arguments[0]!, false, true)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return arrows
}

/** Files and packages that are loaded with a file. */
function loadedWith(file: string, arrows: readonly Arrow[], loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded
  loaded.add(file)
  for (const { from, to, isType } of arrows) if (from === file && !isType) loadedWith(to, arrows, loaded)
  return loaded
}
