import { manifestOf } from './build.js'
import type { Beside } from './install.js'

const typescript7 = 'typescript7@npm:typescript@7.0.2'

/** Projects on Express and Fastify: one with the newest of all, and each alone in the lowest version. */
export async function frameworks(): Promise<Beside> {
  const types = await current('@types/node')
  const newest = ['express', 'fastify', 'typescript', '@types/express'].map(current)
  return {
    current: [types, ...(await Promise.all(newest)), typescript7],
    'express-only': [types, await lowest('express'), '@types/express@4.17.21'],
    // Fastify 4 is for NestJS 10 alone.
    'fastify-only': [types, 'fastify@5.0.0'],
    'core-only': []
  }
}

/** Projects on each line of NestJS, with what its platforms stand on. */
export const nestLines: Beside = {
  'nest-12': [...nest('12'), 'fastify@5', '@types/express@5'],
  'nest-11': [...nest('11'), 'fastify@5', '@types/express@5'],
  'nest-10': [...nest('10'), 'fastify@4', '@types/express@4']
}

/** What compiles and tests them. */
export async function nestTools(): Promise<readonly string[]> {
  const here = ['@types/node', 'typescript', 'vitest', 'vite', '@swc/core'].map(current)
  return [
    ...(await Promise.all(here)),
    typescript7,
    'jest@30',
    '@types/jest@30',
    'ts-jest@29',
    '@swc/jest@0.2'
  ]
}

function nest(line: string): string[] {
  const parts = ['common', 'core', 'platform-express', 'platform-fastify', 'websockets', 'microservices']
  return [...parts.map((part) => `@nestjs/${part}@${line}`), 'reflect-metadata@0.2', 'rxjs@7']
}

async function current(name: string): Promise<string> {
  return `${name}@${(await manifestOf(name)).version}`
}

/** The first version of a peer's range such as `^4.18.0 || ^5.0.0`. */
async function lowest(name: string): Promise<string> {
  const { peerDependencies } = await manifestOf()
  return `${name}@${/\d+\.\d+\.\d+/.exec(peerDependencies[name] ?? '')}`
}
