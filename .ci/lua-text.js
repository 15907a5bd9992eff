/**
 * Imports files of Lua as their text, without comments and indents: servers keep each script, and read it line by line.
 * It goes with the bundler of the build and with that of the tests.
 */
export const luaText = {
  name: 'lua-text',
  transform: (code, id) =>
    id.endsWith('.lua')
      ? { code: `export default ${JSON.stringify(bare(code))}`, moduleType: 'js', map: null }
      : undefined
}

function bare(code) {
  return code
    .replace(/--\[\[[\s\S]*?\]\]\n?/g, '')
    .replace(/^[ \t]*--.*\n/gm, '')
    .replace(/^[ \t]+/gm, '')
}
