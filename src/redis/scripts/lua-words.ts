/** A number as Lua writes it. */
function luaNumber(value: number): string {
  return value === Number.POSITIVE_INFINITY ? 'math.huge' : String(value)
}

/** A number as Lua reads it from an argument. */
export function argument(value: number): string {
  return value === Number.POSITIVE_INFINITY ? 'inf' : String(value)
}

/** What is to be made into a table of Lua: texts stand for expressions of Lua. */
export type LuaFields = Readonly<Record<string, number | boolean | string | undefined>>

/** A table of Lua, and `items` behind its fields. */
export function luaTable(fields: LuaFields, items: readonly string[] = []): string {
  const named = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} = ${typeof value === 'number' ? luaNumber(value) : value}`)
  return `{ ${[...named, ...items].join(', ')} }`
}
