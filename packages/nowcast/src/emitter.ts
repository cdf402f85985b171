/** Typed events. A listener that throws is reported on the console and does not keep others from hearing. */
export class Emitter<Events extends object> {
  private readonly listeners = new Map<keyof Events, Set<(event: never) => void>>();

  on<K extends keyof Events>(type: K, listener: (event: Events[K]) => void): () => void {
    const set = this.listeners.get(type) ?? new Set();
    this.listeners.set(type, set);
    // Wrapped, so that the same function may listen twice and each can be taken off by itself.
    const entry = (event: Events[K]): void => listener(event);
    set.add(entry);
    return () => set.delete(entry);
  }

  emit<K extends keyof Events>(type: K, event: Events[K]): void {
    for (const listener of this.listeners.get(type) ?? []) {
      try {
        (listener as (event: Events[K]) => void)(event);
      } catch (error) {
        console.error(`nowcast: a listener of "${String(type)}" threw`, error);
      }
    }
  }
}
