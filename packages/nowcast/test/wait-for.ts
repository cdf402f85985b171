/** Waits until `condition` returns a value; fails with `what` after `deadlineMs`. */
export async function waitFor<T>(
  what: string,
  condition: () => T | undefined | false | null | Promise<T | undefined | false | null>,
  deadlineMs = 120_000,
): Promise<T> {
  const startMs = performance.now();
  for (;;) {
    const outcome = await condition();
    if (outcome !== undefined && outcome !== false && outcome !== null) return outcome;
    if (performance.now() - startMs > deadlineMs)
      throw new Error(`waited ${deadlineMs} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
