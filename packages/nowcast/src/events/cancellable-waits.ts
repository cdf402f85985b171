/// <reference lib="esnext.disposable" preserve="true" />
/** Promises that may never settle. An `AbortSignal` rejects one of them; the end of their source rejects all. */

export interface WaitOptions {
  /** Cancels the wait: the promise is rejected with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Begins to wait, and returns a function that stops the wait. It may settle the promise before it returns. */
export type Begin<T> = (resolve: (value: T) => void, reject: (reason: unknown) => void) => () => void;

export class CancellableWaits {
  readonly #rejects = new Set<(reason: unknown) => void>();
  #ended: { readonly reason: unknown } | undefined;

  /** Waits until `begin` answers, `signal` aborts, or all waits end. */
  wait<T>(signal: AbortSignal | undefined, begin: Begin<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#ended !== undefined) throw this.#ended.reason;
      let isOver = false;
      let stop = (): void => {};
      const end = (): void => {
        isOver = true;
        stop();
        this.#rejects.delete(refuse);
        signal?.removeEventListener("abort", abort);
      };
      const refuse = (reason: unknown): void => {
        end();
        reject(reason);
      };
      const abort = (): void => refuse(signal?.reason);
      this.#rejects.add(refuse);
      signal?.addEventListener("abort", abort);
      stop = begin((value) => {
        end();
        resolve(value);
      }, refuse);
      // The answer came during `begin`, before there was a function that stops the wait.
      if (isOver) stop();
    });
  }

  /** Rejects all current and later waits. */
  end(reason: unknown): void {
    this.#ended ??= { reason };
    for (const refuse of [...this.#rejects]) refuse(reason);
  }
}

/** The symbols of `using` and `await using`, for platforms that do not know them yet (Node before 20.5, Safari). */
const known: { readonly dispose?: symbol; readonly asyncDispose?: symbol } = Symbol;
const dispose = known.dispose ?? Symbol.for("Symbol.dispose");
const asyncDispose = known.asyncDispose ?? Symbol.for("Symbol.asyncDispose");
export const DISPOSE: typeof Symbol.dispose = dispose as typeof Symbol.dispose;
export const ASYNC_DISPOSE: typeof Symbol.asyncDispose = asyncDispose as typeof Symbol.asyncDispose;
