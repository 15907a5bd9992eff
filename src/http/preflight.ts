import type { Host } from './host.js'

/**
 * True for a CORS preflight as the Fetch standard makes it: it carries neither credentials nor a body, so it belongs to
 * no user, and a 429 to it shows as a network error. A request that has one of those is no preflight, whatever else it
 * says.
 */
export function isPreflight<Req>(host: Host<Req, never>, request: Req): boolean {
  return (
    host.method(request) === 'OPTIONS' &&
    host.header(request, 'origin') !== undefined &&
    host.header(request, 'access-control-request-method') !== undefined &&
    host.header(request, 'authorization') === undefined &&
    host.header(request, 'cookie') === undefined &&
    !host.hasBody(request)
  )
}

/** What is read of a request of Node's HTTP/1 or HTTP/2. */
export interface Bodied {
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
  readonly stream?: { readonly endAfterHeaders?: boolean } | undefined
}

/** True for a request that has a body. On HTTP/2 no field need say so: there the stream does. */
export function hasBody({ headers, stream }: Bodied): boolean {
  const length = headers['content-length']
  return (
    headers['transfer-encoding'] !== undefined ||
    (length !== undefined && Number(length) !== 0) ||
    stream?.endAfterHeaders === false
  )
}
