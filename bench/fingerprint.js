import { answer, headgate, inChild, interleaved, isChild, isMain, isQuick, print } from './harness.js'

/*
 * Keys that share a fingerprint, among millions that differ in little or in what a sum modulo 2^32 likes least. By chance
 * two of two million share one in 1 of 10^7 runs. Each round is a process, and so a seed, of its own.
 * test/memory/fingerprint.test.ts has the same of fewer keys, and how evenly they spread.
 */

const rounds = isQuick ? 1 : 3
const count = isQuick ? 200_000 : 2_000_000
const crafted = isQuick ? 2 ** 17 : 2 ** 20

const kinds = {
  counters: (i) => String(i),
  'padded counters': (i) => String(i).padStart(10, '0'),
  'user ids': (i) => `user:${i}:login`,
  'IPv4 addresses': (i) => `10.${i >>> 16}.${(i >>> 8) & 255}.${i & 255}`,
  'IPv6 groups': (i) => `2001:db8:${(i >>> 8).toString(16)}:${(i & 255).toString(16)}00::/56`,
  'UUID-like texts': (i) => `00000000-0000-4000-8000-${i.toString(16).padStart(12, '0')}`,
  'texts of two letters': (i) => String.fromCharCode(i & 1023, 1024 + (i >>> 10)),
  'the highest bit of each pair': (i) => chunks(i, 20, ['\0\0', '\0\u8000']),
  'a highest bit and where it went in the first word': (i) => chunks(i, 20, ['\0\0\0\0', '\0\u8000\u1000\0']),
  'a highest bit and where it went in the second word': (i) =>
    chunks(i, 20, ['\0\0\0\0', '\0\u8000\0\u0001']),
  'the two highest bits': (i) => chunks(i, 10, ['\0\0', '\0\u4000', '\0\u8000', '\0\uc000'])
}

function chunks(i, length, texts) {
  let text = ''
  let rest = i
  for (let at = 0; at < length; at++) {
    text += texts[rest % texts.length]
    rest = Math.floor(rest / texts.length)
  }
  return text
}

const sizeOf = (name) => (Object.keys(kinds).indexOf(name) < 7 ? count : crafted)

/** Keys that take no place of their own in a store with room for all. */
async function work(name) {
  const { createLimiter, memoryStore } = await headgate()
  const keys = sizeOf(name)
  const store = memoryStore({ maxKeys: 2 * keys })
  const limiter = createLimiter({ limit: 1_000_000, window: '365d', align: 'first-request', store })
  const keyOf = kinds[name]
  for (let i = 0; i < keys; i++) limiter.consume(keyOf(i))
  return keys - limiter.size()
}

export async function run() {
  const names = Object.keys(kinds)
  const found = await interleaved(names, rounds, (name) => inChild(import.meta.url, [name]))
  const most = (name) => Math.max(...found[name])
  print({
    title: 'keys that share a fingerprint, in the worst of the rounds',
    columns: ['', 'keys', 'shared'],
    rows: names.map((name) => [name, sizeOf(name).toLocaleString('en'), most(name)])
  })
  return [{ what: 'keys that share a fingerprint', found: Math.max(...names.map(most)), target: 0 }]
}

if (isChild) answer(await work(process.argv[2]))
else if (isMain(import.meta.url)) await run()
