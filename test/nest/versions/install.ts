import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { npmCi } from '../../support/npm-ci.js'

/** Installs the versions of Nest that projects are named after, all at once. */
export default async function setup({ vitest }: TestProject): Promise<void> {
  const versions = vitest.projects.flatMap(({ name }) => /^nest (\d+)$/.exec(name)?.[1] ?? [])
  await Promise.all(versions.map((version) => npmCi(join(import.meta.dirname, version))))
}
