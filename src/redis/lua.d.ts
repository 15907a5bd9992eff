/** A file of Lua is imported as its text: `loader` in tsdown.config.ts and `luaText` in vitest.config.ts see to it. */
declare module '*.lua' {
  const text: string
  export default text
}
