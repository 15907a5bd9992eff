/**
 * The value of Access-Control-Expose-Headers that also exposes `names`: what is there stays as it is, missing
 * names follow. Beside `*` too, which is no wildcard on requests with credentials (Fetch standard,
 * "CORS-safelisted response-header name").
 */
export function exposeHeaders(existing: string | undefined, names: readonly string[]): string {
  if (existing === undefined) return names.join(', ')
  const kept: string[] = []
  const seen = new Set<string>()
  for (const part of existing.split(',')) {
    const name = part.trim()
    if (name === '') continue
    kept.push(name)
    seen.add(name.toLowerCase())
  }
  for (const name of names) if (!seen.has(name.toLowerCase())) kept.push(name)
  return kept.join(', ')
}
