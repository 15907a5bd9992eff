/** What is wrong in a text of Lua, each with its line. */
export function problemsOf(text: string): string[]
