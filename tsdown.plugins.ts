/** The part of a syntax tree that is asked for here. */
interface Node {
  readonly type: string
  readonly start: number
  readonly [part: string]: unknown
}

/** What becomes of the code that rolldown makes. */
interface Chunk {
  readonly isEntry: boolean
}

/**
 * The Lua of the Redis store without its indentation, its comments and the spaces around operators. Its lines stay, for
 * Redis names them in errors. The tests have it too, so that they run what users get.
 */
export function luaText() {
  return {
    name: 'lua-text',
    enforce: 'pre' as const,
    transform(code: string, id: string): string | undefined {
      if (!/[\\/]lua-(script|strategies)\.ts$/.test(id)) return
      return code.replace(/= `\n([^`$\\]+)`/g, (_, lua: string) => `= \`${compact(lua)}\``)
    }
  }
}

// None of its texts has such a space in it. Two minuses that meet would begin a comment.
function compact(lua: string): string {
  return lua
    .replace(/^ *--.*\n/gm, '')
    .replace(/^ +/gm, '')
    .replace(/ *(\.\.|[=~<>]=|[=<>+*/%^,{}()[\]]|(?<!-)-(?!-)) */g, '$1')
}

/**
 * CommonJS without what is there for ES modules alone: packages are taken as they are, not through a copy that imitates
 * a namespace; the shared chunk sets its exports, all of them constant, in place of defining a getter for each.
 */
export function plainCommonjs() {
  return {
    name: 'plain-commonjs',
    renderChunk(code: string, { isEntry }: Chunk): string {
      const plain = code
        .replace(
          /^let (\w+) = (require\("[^"]+"\));\n\1 = [\w.]+\(\1, 1\);$/gm,
          'const $1 = { default: $2 };'
        )
        .replace(/^const \w+ = require\('[./]+rolldown-runtime\.cjs'\);\n/m, '')
        // A bundler that turns this into an ES module has no `require` to give it: esbuild's throws.
        .replaceAll('require("node:', 'process.getBuiltinModule("node:')
      return isEntry ? plain : withOneExport(plain)
    },
    generateBundle(_: unknown, bundle: Record<string, unknown>) {
      delete bundle['rolldown-runtime.cjs']
      for (const [name, { code }] of Object.entries(bundle) as [string, { code?: string }][])
        if (code?.includes('rolldown-runtime'))
          throw new Error(`${name} imports in a way that is not known here`)
    }
  }
}

function withOneExport(code: string): string {
  const names: string[] = []
  const getter =
    /^Object\.defineProperty\(exports, '([\w$]+)', \{\s+enumerable: true,\s+get: function \(\) \{\s+return ([\w$]+);\s+\}\s+\}\);\n?/gm
  const rest = code.replace(getter, (_, exported, name) => {
    if (new RegExp(`^let ${name}\\b`, 'm').test(code)) throw new Error(`${name} is exported and may change`)
    names.push(`${exported}: ${name}`)
    return ''
  })
  if (rest.includes('Object.defineProperty(exports')) throw new Error('There is an export of an unknown form')
  return names.length > 0 ? `${rest}\nmodule.exports = { ${names.join(', ')} };\n` : rest
}

/**
 * Lines for minified code, so that stack traces tell places apart and Node shows less than a file of an error's source:
 * one for each function, method and statement at the top, and one where a statement begins beyond `length`. In ASCII,
 * of which a character takes one byte in memory; anything else in a file makes that two.
 */
export function lines(length = 120) {
  return {
    name: 'lines',
    generateBundle(this: { parse(code: string): unknown }, _: unknown, bundle: Record<string, unknown>) {
      for (const chunk of Object.values(bundle) as { type: string; code: string }[])
        if (chunk.type === 'chunk') {
          const code = plainText(chunk.code)
          chunk.code = broken(code, this.parse(code) as Node, length)
        }
    }
  }
}

function plainText(code: string): string {
  return code
    .replace(/\b(require\(|import\(|getBuiltinModule\(|exports,)`([^`$]+)`/g, '$1"$2"')
    .replace(/[^\n\x20-\x7e]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function broken(code: string, program: Node, length: number): string {
  const places = new Map<number, boolean>()
  findPlaces(program, places)
  let [text, from] = ['', 0]
  for (const [at, isSure] of [...places].sort(([a], [b]) => a - b)) {
    const line = at - Math.max(from, code.lastIndexOf('\n', at - 1) + 1)
    if (line === 0 || !(isSure || line > length)) continue
    text += `${code.slice(from, at)}\n`
    from = at
  }
  return text + code.slice(from)
}

/** Where a line may begin, and whether one surely does. */
function findPlaces(node: Node, places: Map<number, boolean>): void {
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type !== 'string') continue
      const isSure = isFunction(child) || (node.type === 'Program' && value === node.body)
      const isStatement = /(Block|Program|Case|Body)/.test(node.type) && Array.isArray(value)
      if (isSure || isStatement) places.set(child.start, isSure || places.get(child.start) === true)
      findPlaces(child, places)
    }
}

function isFunction({ type, method, kind }: Node): boolean {
  return (
    /^(FunctionDeclaration|MethodDefinition)$/.test(type) ||
    (type === 'Property' && (method === true || kind !== 'init'))
  )
}
