/** Polls until the answer is neither false, nor undefined, nor an error, and gives it. */
export async function until<Answer>(
  what: string,
  ask: () => Answer | Promise<Answer>,
  deadline = 10_000
): Promise<Exclude<Answer, false | undefined>> {
  const end = performance.now() + deadline
  for (;;) {
    const { answer, error } = await attempt(ask)
    if (answer !== undefined && answer !== false) return answer as Exclude<Answer, false | undefined>
    if (performance.now() > end) throw new Error(`not within ${deadline} ms: ${what}`, { cause: error })
    // Often enough to lose little, seldom enough to leave a small machine to the servers.
    await new Promise((again) => setTimeout(again, 10))
  }
}

async function attempt<Answer>(
  ask: () => Answer | Promise<Answer>
): Promise<{ readonly answer?: Answer; readonly error?: unknown }> {
  try {
    return { answer: await ask() }
  } catch (error) {
    return { error }
  }
}
