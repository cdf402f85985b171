/**
 * Durable actions. Each has a number, is sent again on every connection until the server answers, and is answered once
 * (`spec/WORLD.md`, section 3).
 */
import { NowcastError } from "../errors/nowcast-error.js";
import { unanswered } from "./requests.js";
import type { WorldRecord } from "./world.js";

/** Maximum distance between the numbers of two unanswered actions (`spec/WORLD.md`, section 6). */
const UNDER_WAY_MAX = 64;
/** Maximum number of actions that wait for an answer or for earlier actions. */
const WAITING_MAX = 1_024;
/**
 * Maximum number of actions sent at once, and maximum number sent in a second. Both are lower than a server's limits,
 * because ordinary actions count toward the same limits.
 */
const AT_ONCE_MAX = 10;
const PER_SECOND = 15;
/** A server forgets a client after a day of its world's time. Actions older than this are not sent again. */
const AGE_MS_MAX = 12 * 3_600_000;

interface Waiting {
  readonly number: number;
  readonly action: string;
  readonly args: WorldRecord;
  readonly beganAtMs: number;
  resolve(): void;
  reject(error: NowcastError): void;
}

/** Passes an action to the connection. Returns false if there is no connection, or if the send queue is full. */
export type SendAction = (action: string, args: WorldRecord, number: number) => boolean;

export class DurableActions {
  /** The waiting actions by their numbers, oldest first. */
  readonly #waiting = new Map<number, Waiting>();
  readonly #send: SendAction;
  #lastNumber: number;
  /** The last number sent on this connection. */
  #sentNumber = 0;
  #allowance = AT_ONCE_MAX;
  #countedAtMs = 0;
  #isConnected = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `lastNumber` is the newest number that the client used in earlier sessions with the room. */
  constructor(send: SendAction, lastNumber = 0) {
    this.#send = send;
    this.#lastNumber = lastNumber;
  }

  get lastNumber(): number {
    return this.#lastNumber;
  }

  /** Resolves when the server has stored the result. Rejects with the reason if the action was not carried out. */
  act(action: string, args: WorldRecord): Promise<void> {
    if (this.#waiting.size >= WAITING_MAX) {
      return Promise.reject(
        new NowcastError("network", `${WAITING_MAX} actions wait for the server's answer`, {
          code: "full",
          cure: "wait for some of them",
        }),
      );
    }
    const number = ++this.#lastNumber;
    const promise = new Promise<void>((resolve, reject) => {
      this.#waiting.set(number, { number, action, args, beganAtMs: Date.now(), resolve, reject });
    });
    this.#flush();
    return promise;
  }

  /** Handles a new connection: unanswered actions are sent again. */
  connected(): void {
    this.disconnected();
    const oldestMs = Date.now() - AGE_MS_MAX;
    for (const { number, action, beganAtMs } of [...this.#waiting.values()]) {
      if (beganAtMs >= oldestMs) continue;
      this.#take(number)?.reject(unanswered(`"${action}"`, "too old to be sent again"));
    }
    this.#isConnected = true;
    this.#sentNumber = 0;
    this.#flush();
  }

  disconnected(): void {
    this.#isConnected = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  done(number: number): void {
    this.#take(number)?.resolve();
    this.#flush();
  }

  refused(number: number, reason: string): void {
    this.#take(number)?.reject(new NowcastError("refused", reason));
    this.#flush();
  }

  /** Rejects all waiting actions, because no more answers will arrive. */
  end(error: NowcastError): void {
    this.disconnected();
    for (const { action, reject } of this.#waiting.values()) reject(unanswered(`"${action}"`, error.message));
    this.#waiting.clear();
  }

  #take(number: number): Waiting | undefined {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    return waiting;
  }

  #flush(): void {
    if (!this.#isConnected || this.#timer !== undefined) return;
    const nowMs = performance.now();
    const earned = ((nowMs - this.#countedAtMs) / 1_000) * PER_SECOND;
    this.#allowance = Math.min(AT_ONCE_MAX, this.#allowance + earned);
    this.#countedAtMs = nowMs;
    let oldest: number | undefined;
    for (const { number, action, args } of this.#waiting.values()) {
      oldest ??= number;
      if (number - oldest >= UNDER_WAY_MAX) return;
      if (number <= this.#sentNumber) continue;
      if (this.#allowance < 1 || !this.#send(action, args, number)) return this.#flushLater();
      this.#allowance -= 1;
      this.#sentNumber = number;
    }
  }

  #flushLater(): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#flush();
    }, 1_000 / PER_SECOND);
  }
}
