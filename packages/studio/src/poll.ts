/** A call that is repeated while its panel is shown, and never overlaps itself. */
export class Poll {
  readonly #run: () => Promise<void>;
  intervalMs: number;
  readonly #failed: ((error: unknown) => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isActive = false;
  #isRunning = false;

  /** Without `failed`, `run` handles its own errors. */
  constructor(run: () => Promise<void>, intervalMs: number, failed?: (error: unknown) => void) {
    this.#run = run;
    this.intervalMs = intervalMs;
    this.#failed = failed;
  }

  start(): void {
    if (this.#isActive) return;
    this.#isActive = true;
    void this.now();
  }

  stop(): void {
    this.#isActive = false;
    clearTimeout(this.#timer);
  }

  /** Calls at once, unless a call is running. The interval begins anew. */
  async now(): Promise<void> {
    if (this.#isRunning) return;
    clearTimeout(this.#timer);
    this.#isRunning = true;
    try {
      await this.#run();
    } catch (error) {
      this.#failed?.(error);
    } finally {
      this.#isRunning = false;
      if (this.#isActive) this.#timer = setTimeout(() => void this.now(), this.intervalMs);
    }
  }
}
