import { readFileSync } from 'node:fs'

/* Refuses to publish a package that does not say where its sources are: that address is its owner's to fill in. */

const { repository } = JSON.parse(readFileSync('package.json', 'utf8'))
const url = typeof repository === 'object' ? repository?.url : repository
if (typeof url !== 'string' || url.trim() === '') {
  console.error(
    `package.json has no "repository": fill in the address of yours before you publish, such as
  "repository": { "type": "git", "url": "git+https://github.com/OWNER/headgate.git" }
npm shows it on the package's page, resolves the links of the README by it and needs it for provenance.`
  )
  process.exitCode = 1
}
