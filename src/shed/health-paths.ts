/** Where requests of all frameworks have their path: Express changes `url` of those that a router is mounted for. */
interface WithPath {
  readonly originalUrl?: string
  readonly url?: string
}

/** True for a request to one of some paths, whatever its query. */
export function isAt(paths: readonly string[], request: object): boolean {
  const { originalUrl, url } = request as WithPath
  const target = originalUrl ?? url ?? ''
  for (const path of paths)
    if (target.startsWith(path) && (target.length === path.length || target[path.length] === '?')) return true
  return false
}
