/** Imports files of Lua as their text, as `loader` does in tsdown.config.ts. */
export const luaText = {
  name: 'lua-text',
  transform: (code: string, id: string) =>
    id.endsWith('.lua') ? `export default ${JSON.stringify(code)}` : undefined
}
