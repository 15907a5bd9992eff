import { defineConfig } from 'tsdown'

export default defineConfig({
  entry: ['src/index.ts', 'src/express/index.ts', 'src/fastify/index.ts'],
  format: ['esm', 'cjs'],
  target: 'node20',
  platform: 'node',
  dts: true,
  fixedExtension: false,
  hash: false
})
