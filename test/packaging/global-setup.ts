import { join, resolve } from 'node:path'
import { npmCi } from '../support/npm-ci.js'

/** Installs what the projects stand on, once for all of them. */
export default async function setup(): Promise<void> {
  const versions = resolve(import.meta.dirname, '../nest/versions')
  const folders = [join(import.meta.dirname, 'installed'), join(versions, '10'), join(versions, '11')]
  await Promise.all(folders.map(npmCi))
}
