/** The IPv4 address that eight groups stand for (mapped, NAT64 or 6to4) as a number, -1 where they stand for none. */
export function embeddedIPv4(groups: Uint16Array): number {
  if (groups[0] === 0x2002) return globalIPv4(groups[1]!, groups[2]!)
  if (groups[2] !== 0 || groups[3] !== 0 || groups[4] !== 0) return -1
  const mapped = groups[0] === 0 && groups[1] === 0 && groups[5] === 0xffff
  const nat64 = groups[0] === 0x64 && groups[1] === 0xff9b && groups[5] === 0
  if (nat64) return globalIPv4(groups[6]!, groups[7]!)
  return mapped ? groups[6]! * 65536 + groups[7]! : -1
}

/**
 * An address that a transition mechanism carries, -1 for one that it must not carry, as it is of a private network, of this
 * host or of nobody (RFC 3056 §2, RFC 6052 §3.1): whoever writes one so is not that host, and has none of its privileges.
 */
function globalIPv4(high: number, low: number): number {
  const first = high >> 8
  const isLocal =
    first === 0 ||
    first === 10 ||
    first === 127 ||
    first >= 224 ||
    high === 0xa9fe ||
    high === 0xc0a8 ||
    (high & 0xfff0) === 0xac10 ||
    (high & 0xffc0) === 0x6440
  return isLocal ? -1 : high * 65536 + low
}
