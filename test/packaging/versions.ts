import { join, resolve } from 'node:path'

const tests = resolve(import.meta.dirname, '..')
const here = resolve(tests, '../node_modules')
const installed = join(tests, 'packaging/installed/node_modules')
const nest10 = join(tests, 'nest/versions/10/node_modules')
const nest11 = join(tests, 'nest/versions/11/node_modules')

/** What a project finds beside the package: folders of `node_modules`, and what is taken from each. */
export type Beside = Readonly<Record<string, readonly string[]>>

const nest = ['common', 'core', 'microservices', 'platform-express', 'platform-fastify', 'websockets']
const nestPackages = [...nest.map((name) => `@nestjs/${name}`), 'reflect-metadata', 'rxjs']

/**
 * Projects on Express and Fastify: one with the newest of all, and each alone in the lowest version; and one on each line
 * of NestJS, with what its platforms stand on.
 */
export const projects = {
  current: { [here]: ['express', 'fastify', '@types/express'] },
  'express-only': { [installed]: ['express', '@types/express'] },
  // Fastify 4 is for NestJS 10 alone.
  'fastify-only': { [installed]: ['fastify'] },
  'nest-12': { [here]: [...nestPackages, 'fastify', '@types/express'] },
  'nest-11': { [nest11]: [...nestPackages, 'fastify'], [here]: ['@types/express'] },
  'nest-10': { [nest10]: [...nestPackages, 'fastify'], [installed]: ['@types/express'] }
} satisfies Readonly<Record<string, Beside>>

/** The lowest TypeScript that README names. */
export const lowestTypeScript = 'typescript54'

/** What compiles and tests them. */
export const tools: Beside = {
  [here]: ['@types/node', 'typescript', 'typescript7', 'vitest'],
  [installed]: ['@swc/jest', '@types/jest', 'jest', 'ts-jest', lowestTypeScript]
}
