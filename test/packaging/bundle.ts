import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, type Format } from 'esbuild'
import { outputOf } from './run.js'

/** Bundles a script of a project for Node, with nothing but `external` left outside, and gives what it prints. */
export async function bundled(
  script: string,
  format: Format,
  external: readonly string[] = []
): Promise<string> {
  // Only with a package that is left outside does it matter where the bundle is.
  const folder = external.length > 0 ? join(script, '..') : tmpdir()
  const out = await mkdtemp(join(folder, 'bundle-'))
  const outfile = join(out, format === 'esm' ? 'all.mjs' : 'all.cjs')
  try {
    const { warnings } = await build({
      entryPoints: [script],
      bundle: true,
      platform: 'node',
      format,
      outfile,
      external: [...external],
      logLevel: 'silent'
    })
    return warnings.map(({ text }) => text).join('\n') + (await outputOf(process.execPath, [outfile], out))
  } finally {
    await rm(out, { recursive: true })
  }
}
