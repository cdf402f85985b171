/**
 * Early recovery: small events that are not acknowledged are sent again before any loss is known, within a budget
 * (`spec/SESSION.md`, section 10). So a single loss delays an event by one send interval instead of
 * a round trip.
 */
import type { BoundEvent } from "./lane/message.js";

export const REPEAT_BYTES_MAX = 256;
/** Maximum content of a packet with a leading event: the event, and small messages that fit. */
export const LEADING_BYTES = REPEAT_BYTES_MAX + 64;
/** The cost of an event that gets its own packet: the additional headers on the link. */
const LEADING_COST = 80;
/** The first repetition may get its own packet; later ones only use packets that leave anyway. */
const WAITS_US = [2_000, 12_000, 30_000, 60_000];
const BUCKET_SECONDS = 0.5;

interface Repetition {
  readonly atUs: number;
  readonly lane: number;
  readonly number: number;
}

export class Redundancy {
  readonly #queues: Repetition[][] = WAITS_US.map(() => []);
  #tokens: number;
  #filledUs: number | undefined;

  constructor(readonly bytesPerSecond: number) {
    this.#tokens = bytesPerSecond * BUCKET_SECONDS;
  }

  /** Records that an event left for the first time. */
  bound(nowUs: number, lane: number, { number, value }: BoundEvent): void {
    if (value.length > REPEAT_BYTES_MAX || this.bytesPerSecond === 0) return;
    this.#queues.forEach((queue, turn) => {
      queue.push({ atUs: nowUs + WAITS_US[turn]!, lane, number });
    });
  }

  /** The time at which an event that was not repeated yet gets its own packet. */
  dueUs(nowUs: number, isWanted: (lane: number, number: number) => boolean): number | undefined {
    const queue = this.#queues[0]!;
    for (let first = queue[0]; first !== undefined; first = queue[0]) {
      if (isWanted(first.lane, first.number) && (first.atUs > nowUs || this.#hasTokens(nowUs)))
        return first.atUs;
      queue.shift();
    }
    return undefined;
  }

  /**
   * Repeats due events in the packet that leaves now, as the budget allows. `repeat` returns the
   * number of bytes used.
   */
  repeat(nowUs: number, hasRoom: () => boolean, repeat: (lane: number, number: number) => number): void {
    for (const [turn, queue] of this.#queues.entries()) {
      // Later repetitions use only budget that first repetitions are unlikely to need.
      const kept = turn === 0 ? 0 : (this.bytesPerSecond * BUCKET_SECONDS) / 2;
      for (let first = queue[0]; first !== undefined && first.atUs <= nowUs; first = queue[0]) {
        if (!hasRoom()) return;
        queue.shift();
        if (this.#hasTokens(nowUs, kept)) this.#tokens -= repeat(first.lane, first.number);
      }
    }
  }

  /**
   * Whether an event may leave before its turn. Half of the budget must remain for first
   * repetitions.
   */
  canLead(nowUs: number): boolean {
    return this.#hasTokens(nowUs, (this.bytesPerSecond * BUCKET_SECONDS) / 2);
  }

  /** Charges the budget for a packet that leaves only because of an event. */
  led(): void {
    this.#tokens -= LEADING_COST;
  }

  forget(): void {
    for (const queue of this.#queues) queue.length = 0;
  }

  #hasTokens(nowUs: number, kept = 0): boolean {
    const elapsed = (nowUs - (this.#filledUs ?? nowUs)) / 1e6;
    this.#filledUs = nowUs;
    this.#tokens = Math.min(
      this.bytesPerSecond * BUCKET_SECONDS,
      this.#tokens + elapsed * this.bytesPerSecond,
    );
    return this.#tokens > kept;
  }
}
