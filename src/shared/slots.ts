/** Threads that may be attached to a buffer at once. */
export const mostThreads = 2048
