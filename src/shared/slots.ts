/** Threads that may be attached to a buffer at once. */
export const mostThreads = 2048

/** Whole numbers that a buffer keeps of them: who is at each place, and which thread that one depends on. */
export const threadInts = 2 * mostThreads
