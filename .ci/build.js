// As the command `tsdown` does, without what it prints on Node 20, which this package supports.
import { build } from 'tsdown'

await build({ logLevel: 'warn' })
