/** A file of Lua is imported as its text: see .ci/lua-text.js. */
declare module '*.lua' {
  const text: string
  export default text
}
