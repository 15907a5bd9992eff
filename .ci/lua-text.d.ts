export const luaText: {
  readonly name: string
  transform(
    code: string,
    id: string
  ): { readonly code: string; readonly moduleType: 'js'; readonly map: null } | undefined
}
