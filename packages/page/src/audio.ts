/** Calls `begin` at each input after which browsers allow sound, and when the page is shown again. */
export function atSoundChances(begin: () => void, signal: AbortSignal): void {
  for (const type of ["pointerup", "keydown"]) window.addEventListener(type, begin, { signal });
  document.addEventListener("visibilitychange", begin, { signal });
}

/** Lets a context run, if the browser allows it now. Phone calls and other pages suspend contexts. */
export function resume(context: AudioContext): void {
  if (context.state !== "running") context.resume().catch(() => undefined);
}
