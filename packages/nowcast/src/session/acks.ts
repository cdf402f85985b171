/** Decides when to acknowledge received packets (`spec/SESSION.md`, section 6). */
import { WIRE_UNIT_US } from "./clock.js";
import { type Arrival, ReceivedNumbers } from "./packet/numbers.js";
import type { Acknowledgement } from "./packet/packets.js";

/** A packet after this much silence is acknowledged at once. */
const QUIET_US = 1_000_000;
/** An acknowledgement leaves after this number of packets. */
const PACKETS_MAX = 16;

export class Acknowledger {
  readonly #received = new ReceivedNumbers();
  #isNew = false;
  #isUrgent = false;
  #eliciting = 0;
  #dueUs: number | undefined;
  #largestAtUs = 0;

  get largest(): number {
    return this.#received.largest;
  }

  judge(number: number): Arrival {
    return this.#received.judge(number);
  }

  arrived(
    nowUs: number,
    number: number,
    isEliciting: boolean,
    isReliable: boolean,
    lastHeardUs: number,
  ): void {
    const { leavesGap } = this.#received.add(number);
    if (this.#received.largest === number) this.#largestAtUs = nowUs;
    if (!isEliciting) return;
    this.#isNew = true;
    this.#eliciting += 1;
    this.#isUrgent ||= this.#eliciting >= PACKETS_MAX || (leavesGap && !isReliable);
    // After a long silence, the peer may have been waiting for an acknowledgement.
    this.#isUrgent ||= nowUs - lastHeardUs >= QUIET_US;
    this.#dueUs ??= nowUs + (isReliable ? 20_000 : 5_000);
  }

  /** When an acknowledgement must leave, in its own packet if necessary. */
  dueUs(nowUs: number): number | undefined {
    return this.#isUrgent ? nowUs : this.#dueUs;
  }

  /**
   * Returns the acknowledgement for the packet that leaves now, if there is anything new to
   * acknowledge.
   */
  toSend(nowUs: number): Acknowledgement | undefined {
    if (!this.#isNew) return undefined;
    return this.#received.acknowledgement(Math.floor((nowUs - this.#largestAtUs) / WIRE_UNIT_US));
  }

  sent(): void {
    this.#isNew = this.#isUrgent = false;
    this.#eliciting = 0;
    this.#dueUs = undefined;
  }
}
