/** How many slots a cluster has. */
export const slotCount = 16_384

/** CRC-16/XMODEM of each byte, as the cluster specification wants it. */
const table = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** The slot of Redis Cluster that a hash tag of ASCII text belongs to (cluster specification, "Key distribution model"). */
export function slotOf(tag: string): number {
  let crc = 0
  for (let i = 0; i < tag.length; i++) crc = ((crc << 8) & 0xffff) ^ table[(crc >> 8) ^ tag.charCodeAt(i)]!
  return crc % slotCount
}
