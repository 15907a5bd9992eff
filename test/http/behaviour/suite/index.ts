import { describe } from 'vitest'
import { describeBeyondHost } from '../extent.js'
import type { Framework } from '../harness.js'
import { bans } from './bans.js'
import { byHand } from './by-hand.js'
import { calendar } from './calendar.js'
import { denial } from './denial.js'
import { errors } from './errors.js'
import { headers } from './headers.js'
import { hostileAddresses } from './hostile-addresses.js'
import { inFlight } from './in-flight.js'
import { keysAndProxies } from './keys-and-proxies.js'
import { lifecycle } from './lifecycle.js'
import { options } from './options.js'
import { plans } from './plans.js'
import { rules } from './rules.js'
import { severalKeys } from './several-keys.js'
import { slowingDown } from './slowing-down.js'
import { whoIsCounted } from './who-is-counted.js'

/** Everything that all frameworks do alike. */
export function behaviour(framework: Framework): void {
  describe(`${framework.name}: keys and proxies`, () => keysAndProxies(framework))
  describe(`${framework.name}: headers`, () => headers(framework))
  describe(`${framework.name}: calendar`, () => calendar(framework))
  describe(`${framework.name}: denial`, () => denial(framework))
  describe(`${framework.name}: options`, () => options(framework))
  describe(`${framework.name}: bans`, () => bans(framework))
  describe(`${framework.name}: by hand`, () => byHand(framework))
  describe(`${framework.name}: errors`, () => errors(framework))
  describe(`${framework.name}: lifecycle`, () => lifecycle(framework))
  describe(`${framework.name}: in flight`, () => inFlight(framework))
  describe(`${framework.name}: several keys`, () => severalKeys(framework))
  describe(`${framework.name}: plans`, () => plans(framework))
  describe(`${framework.name}: slowing down`, () => slowingDown(framework))
  describe(`${framework.name}: rules`, () => rules(framework))
  describe(`${framework.name}: who is counted`, () => whoIsCounted(framework))
  describeBeyondHost(framework, `${framework.name}: hostile addresses`, () => hostileAddresses(framework))
}
