const SENDS_PER_SECOND_MAX = 30;
const INTERVAL_MS = 1000 / SENDS_PER_SECOND_MAX;

/** Calls a function that sends, at most thirty times a second. */
export class SendInterval {
  readonly #send: () => void;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(send: () => void) {
    this.#send = send;
  }

  /** Calls the function as soon as the interval since the last {@link sent} has passed. */
  schedule(): void {
    if (this.#timer !== undefined) return;
    const waitMs = this.#sentAtMs + INTERVAL_MS - performance.now();
    if (waitMs <= 0) this.#send();
    else this.#callIn(waitMs);
  }

  /** Calls the function again after an interval, because nothing could be sent now. */
  retry(): void {
    this.#callIn(INTERVAL_MS);
  }

  /** Records that something was sent. */
  sent(): void {
    this.#sentAtMs = performance.now();
  }

  /** Cancels a scheduled call. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Allows the next call at once. */
  reset(): void {
    this.#sentAtMs = Number.NEGATIVE_INFINITY;
  }

  #callIn(waitMs: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#send();
    }, waitMs);
  }
}
