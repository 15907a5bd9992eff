import { bimodal, constant, exponential, longTailed, type Phase, type Scenario } from './simulation.js'

/** A scenario, and after what time of each phase a limit should have found itself. */
export interface Case {
  readonly scenario: Scenario
  readonly settleMs: number
  /** Instants from which goodput is compared, up to the next; those of the phases if left out. */
  readonly from?: readonly number[]
  /** What the mean service time is where nothing else is said: AIMD takes half the clients' patience as time-out. */
  readonly serviceMs: number
  /** False for what AIMD cannot know. */
  readonly isForAimd?: false
}

const queue = { discipline: 'queue', shape: exponential, patience: 6, seed: 7 } as const
const shared = { ...queue, discipline: 'shared' } as const

interface PhaseOptions extends Partial<Omit<Phase, 'at'>> {}

/** Ten servers of 20 ms at twice what they can do, where nothing else is said. */
function phase(at: number, options: PhaseOptions = {}): Phase {
  return { at, servers: 10, serviceMs: 20, load: 2, ...options }
}

function phases(count: number, everyMs: number, options: (i: number) => PhaseOptions): Phase[] {
  return Array.from({ length: count }, (_, i) => phase(i * everyMs, options(i)))
}

const twenty = { settleMs: 5000, serviceMs: 20 }

/** What the picture shows: a service that loses three quarters of its servers for a while. */
export const steps: Case = {
  ...twenty,
  scenario: {
    ...queue,
    untilMs: 90_000,
    phases: [
      phase(0, { servers: 20 }),
      phase(30_000, { servers: 5, load: 8 }),
      phase(60_000, { servers: 20 })
    ]
  }
}

export const cases: Readonly<Record<string, Case>> = {
  'steady load': { ...twenty, scenario: { ...queue, untilMs: 60_000, phases: [phase(0)] } },
  'steady load, service times with a long tail': {
    ...twenty,
    scenario: { ...queue, shape: longTailed, untilMs: 60_000, phases: [phase(0)] }
  },
  'one core of 5 ms at three times what it can do': {
    settleMs: 5000,
    serviceMs: 5,
    scenario: {
      ...shared,
      shape: constant,
      untilMs: 40_000,
      phases: [phase(0, { servers: 1, serviceMs: 5, load: 3 })]
    }
  },
  'four cores': {
    ...twenty,
    scenario: { ...shared, untilMs: 60_000, phases: [phase(0, { servers: 4 })] }
  },
  'a hundred servers': {
    settleMs: 10_000,
    serviceMs: 50,
    scenario: { ...queue, untilMs: 40_000, phases: [phase(0, { servers: 100, serviceMs: 50, load: 1.5 })] }
  },
  'light load': { ...twenty, scenario: { ...queue, untilMs: 60_000, phases: [phase(0, { load: 0.6 })] } },
  'nearly full': { ...twenty, scenario: { ...queue, untilMs: 60_000, phases: [phase(0, { load: 0.95 })] } },
  'a step down in capacity, and back up': steps,
  'a service that becomes three times slower, and recovers': {
    settleMs: 10_000,
    serviceMs: 20,
    isForAimd: false,
    scenario: {
      ...queue,
      untilMs: 90_000,
      phases: [
        phase(0, { servers: 20 }),
        phase(30_000, { servers: 20, serviceMs: 60, load: 4 }),
        phase(60_000, { servers: 20 })
      ]
    }
  },
  'a slow drift in capacity': {
    ...twenty,
    from: [0],
    scenario: {
      ...queue,
      untilMs: 100_000,
      phases: phases(20, 5000, (i) => ({ servers: 20 - Math.round(0.75 * i) }))
    }
  },
  'a slow drift in service time': {
    ...twenty,
    from: [0],
    isForAimd: false,
    scenario: { ...queue, untilMs: 100_000, phases: phases(25, 4000, (i) => ({ serviceMs: 20 * 1.06 ** i })) }
  },
  bursts: {
    ...twenty,
    from: [0],
    scenario: {
      ...queue,
      untilMs: 60_000,
      phases: phases(30, 2000, (i) => ({ load: i % 2 === 0 ? 0.3 : 4 }))
    }
  },
  'fast and slow routes': {
    ...twenty,
    scenario: { ...queue, shape: bimodal, patience: 15, untilMs: 60_000, phases: [phase(0)] }
  },
  'fast and slow routes that share cores': {
    ...twenty,
    isForAimd: false,
    scenario: { ...shared, shape: bimodal, patience: 20, untilMs: 60_000, phases: [phase(0, { servers: 4 })] }
  },
  'idle, then busy': {
    ...twenty,
    scenario: { ...queue, untilMs: 80_000, phases: [phase(0, { load: 0.02 }), phase(50_000, { load: 3 })] }
  },
  'a backend that fails at once for a while': {
    ...twenty,
    from: [0, 40_000],
    scenario: {
      ...queue,
      untilMs: 70_000,
      phases: [phase(0), phase(20_000, { isDown: true }), phase(40_000)]
    }
  },
  'a backend that fails slowly for a while': {
    settleMs: 10_000,
    serviceMs: 20,
    from: [0, 50_000],
    scenario: {
      ...queue,
      untilMs: 80_000,
      phases: [phase(0), phase(20_000, { isDown: true, serviceMs: 1000 }), phase(50_000)]
    }
  },
  'a clock that jumps an hour on, and back': {
    ...twenty,
    from: [0, 20_000, 40_000],
    scenario: {
      ...queue,
      untilMs: 60_000,
      phases: [phase(0)],
      clock: (now) => (now < 20_000 ? now : now < 40_000 ? now + 3_600_000 : now - 3000)
    }
  },
  'a few streams of 30 s among requests of 20 ms': {
    settleMs: 20_000,
    serviceMs: 20,
    scenario: { ...queue, untilMs: 120_000, phases: [phase(0)], streams: { everyMs: 5000, lastMs: 30_000 } }
  },
  'pauses of 80 ms each second': {
    ...twenty,
    scenario: { ...queue, untilMs: 60_000, phases: [phase(0)], pauses: { everyMs: 1000, lastMs: 80 } }
  },
  'requests of a second': {
    settleMs: 120_000,
    serviceMs: 1000,
    scenario: { ...queue, untilMs: 900_000, phases: [phase(0, { serviceMs: 1000 })] }
  }
}
