const ESCAPED = /["\\]/g

// standard alphabet, padded, pad bits zero
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/

/** A String of RFC 9651 §4.1.6. The text is %x20-7E already (H4). */
export function quoted(text: string): string {
  return `"${text.replace(ESCAPED, '\\$&')}"`
}

/** `;pk=:…:` as a Byte Sequence (RFC 9651 §4.1.8); '' for none, and for text that would void the field. */
export function partitionKeyParameter(base64: string | undefined): string {
  if (base64 === undefined || !BASE64.test(base64)) return ''
  return `;pk=:${base64}:`
}
