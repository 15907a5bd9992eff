import type { Host } from './host.js'

/**
 * Fields that tell caches of an answer, or describe its content: of an answer that is not sent, a denial has none. Targeted
 * Cache-Control fields, of CDNs, come before Cache-Control (RFC 9213 §2.1), so `no-store` alone would not keep a denial out
 * of them. `Vary` stays, as it is true of denials too, and so do `Set-Cookie` and whatever else is not of the content.
 */
const ofOtherAnswer = new RegExp(
  [
    // Cache-Control itself is set anew.
    '^(?!cache-control$).*cache-(control|status|groups?|group-invalidation|tags?)$',
    '^(expires|age|pragma|etag|last-modified|no-vary-search|use-as-dictionary)$',
    '^(surrogate-.*|edge-control|edge-cache-tag|xkey|x-varnish-ttl|x-litespeed-(purge|tag|vary))$',
    // These have a proxy send a file in place of the body, or keep it.
    '^x-(accel-(expires|redirect|charset)|sendfile|sendfile2|lighttpd-send-(file|tempfile))$',
    '^content-(?!security-policy)',
    '^(digest|repr-digest|unencoded-digest|accept-ranges|sourcemap|x-sourcemap|trailer)$'
  ].join('|')
)

/** True for such a field. Where a call has no response of its own, that of all calls keeps its form. */
export function isOfOtherAnswer(host: Host<never, never>, name: string): boolean {
  const lower = name.toLowerCase()
  return ofOtherAnswer.test(lower) && !(host.hasManyCalls === true && lower === 'content-type')
}
