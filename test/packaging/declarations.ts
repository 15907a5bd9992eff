import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Run, run } from './run.js'

/** How a project is compiled: the type of its package, and the options of the compiler. */
export type Setting = readonly ['module' | 'commonjs', ...flags: (readonly [string, string])[]]

export const nodenext: Setting = ['module', ['module', 'nodenext']]
export const commonjs: Setting = ['commonjs', ['module', 'nodenext']]
export const node16: Setting = ['module', ['module', 'node16']]
export const bundler: Setting = ['commonjs', ['module', 'preserve'], ['moduleResolution', 'bundler']]
/** It knows no `exports`, and no compiler written in Go knows it. */
export const classic: Setting = ['commonjs', ['module', 'commonjs'], ['moduleResolution', 'node10']]

/**
 * Has a compiler write the declarations of `projects/declarations`: of each file in a program of its own, for in one with
 * others it could name types by what those import.
 */
export async function declare(
  project: string,
  tsc: string,
  files: readonly string[],
  settings: readonly Setting[]
): Promise<Run> {
  const configs: string[] = []
  for (const [number, [type, ...flags]] of settings.entries()) {
    const folder = join(project, type, 'declarations', `setting-${number}`)
    await mkdir(folder, { recursive: true })
    for (const file of files) {
      const config = join(folder, `${file}.json`)
      const compilerOptions = {
        ...Object.fromEntries(flags),
        ...{ strict: true, skipLibCheck: true, target: 'es2022', esModuleInterop: true, types: ['node'] },
        ...{ composite: true, emitDeclarationOnly: true, outDir: `out/${file}`, rootDir: '..' },
        experimentalDecorators: true
      }
      await writeFile(config, JSON.stringify({ compilerOptions, files: [`../${file}.ts`] }))
      configs.push(config)
    }
  }
  return run(process.execPath, [tsc, '--build', '--force', '--pretty', 'false', ...configs], project)
}
