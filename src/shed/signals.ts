/** What of this worker may have a threshold, by the names of the options. */
export const signalNames = [
  'eventLoopDelay',
  'eventLoopUtilization',
  'heapUsedBytes',
  'rssBytes',
  'inFlight',
  'gauge'
] as const

/** Something that is measured. */
export type Signal = (typeof signalNames)[number]

/** What was measured in one sample. */
export type Readings = Readonly<Record<Signal, number>>

/** From where on each of them is pressure; those that have no threshold are left out. */
export type Thresholds = Readonly<Partial<Record<Signal, number>>>

/** How hard one signal presses: its reading as a part of its threshold; 0 without one. */
export function pressureOf(signal: Signal, readings: Readings, thresholds: Thresholds): number {
  const threshold = thresholds[signal]
  return threshold === undefined ? 0 : readings[signal] / threshold
}

/** The pressure of a sample: that of whatever presses hardest. What could not be read presses nothing. */
export function pressure(readings: Readings, thresholds: Thresholds): number {
  let hardest = 0
  for (const signal of signalNames) {
    const one = pressureOf(signal, readings, thresholds)
    if (one > hardest) hardest = one
  }
  return hardest
}

/** The signals that have reached `least` of their thresholds. */
export function pressing(readings: Readings, thresholds: Thresholds, least: number): readonly Signal[] {
  return signalNames.filter((signal) => pressureOf(signal, readings, thresholds) >= least)
}
