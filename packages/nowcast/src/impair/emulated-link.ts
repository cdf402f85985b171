/** One direction of an emulated link: a queue before a narrow hop, then loss, delay and jitter. */
import { NowcastError } from "../errors/nowcast-error.js";

/** The link conditions in one direction. */
export interface LinkConditions {
  /** Delay of every packet, in milliseconds: half of the round trip. */
  readonly delayMs: number;
  /** The largest additional delay. Packets keep their order. */
  readonly jitterMs: number;
  /** The share of packets that are lost, from 0 to 1. */
  readonly loss: number;
  /** Mean number of packets lost in a row. With 1, each packet is lost independently. */
  readonly burst: number;
  /** The capacity; `Infinity` for no limit. */
  readonly kilobitsPerSecond: number;
  /** Regular outages, in which all packets are lost; `undefined` for none. */
  readonly outage?: { readonly everyMs: number; readonly lastsMs: number } | undefined;
}

/** A perfect link. */
export const CLEAR_LINK: LinkConditions = {
  delayMs: 0,
  jitterMs: 0,
  loss: 0,
  burst: 1,
  kilobitsPerSecond: Number.POSITIVE_INFINITY,
};

/** Maximum bytes that wait before the narrow hop. Further packets are dropped. */
export const QUEUE_BYTES_MAX = 64 * 1024;
const DELAY_MS_MAX = 60_000;

/**
 * How the link treats a lost packet. Datagrams do not arrive. A stream sends its bytes again after `resendMs`, and later
 * packets wait for them.
 */
export type LinkType =
  | { readonly type: "datagrams" }
  | { readonly type: "stream"; readonly resendMs?: number };

/**
 * Decides when packets arrive. Time and randomness are arguments: with the same seed and the same packets at the same times, a
 * link makes the same decisions.
 */
export class EmulatedLink {
  /** How many packets entered the link; `lost` counts those that were lost or dropped. */
  packets = 0;
  lost = 0;
  /** How many bytes entered the link. */
  bytes = 0;
  readonly #random: () => number;
  readonly #type: LinkType;
  #conditions: LinkConditions;
  #freeAtMs = 0;
  #lastArrivalMs = 0;
  #wasLost = false;
  #outageUntilMs = Number.NEGATIVE_INFINITY;

  constructor(conditions: LinkConditions, random: () => number, type: LinkType = { type: "datagrams" }) {
    this.#conditions = checkConditions(conditions);
    this.#random = random;
    this.#type = type;
  }

  get conditions(): LinkConditions {
    return this.#conditions;
  }

  /** Changes the link for later packets. Packets on their way arrive as decided. */
  set conditions(conditions: LinkConditions) {
    this.#conditions = checkConditions(conditions);
  }

  /** Loses all packets until `untilMs`. */
  interrupt(untilMs: number): void {
    this.#outageUntilMs = untilMs;
  }

  /** How many bytes wait before the narrow hop. */
  waitingBytes(nowMs: number): number {
    const { kilobitsPerSecond } = this.#conditions;
    if (kilobitsPerSecond === Number.POSITIVE_INFINITY) return 0;
    return (Math.max(0, this.#freeAtMs - nowMs) * kilobitsPerSecond) / 8;
  }

  /** The arrival time of a packet that is sent now; `undefined` if it is lost. */
  send(nowMs: number, bytes: number): number | undefined {
    const { delayMs, jitterMs, kilobitsPerSecond } = this.#conditions;
    // The number of draws for each packet is fixed, so that a condition does not change the fate of later packets.
    const [fate, jitter] = [this.#random(), this.#random()];
    const isStream = this.#type.type === "stream";
    this.packets += 1;
    this.bytes += bytes;
    if (!isStream && this.waitingBytes(nowMs) + bytes > QUEUE_BYTES_MAX) return this.#lose();
    this.#freeAtMs = Math.max(nowMs, this.#freeAtMs) + (bytes * 8) / kilobitsPerSecond;
    const isLost = this.#isLost(fate);
    const outageEndMs = this.#outageEndMs(nowMs);
    if (isStream) {
      const resendMs = isLost ? (this.#type.resendMs ?? 2 * delayMs + jitterMs + 20) : 0;
      if (isLost) this.lost += 1;
      const leavesMs = Math.max(this.#freeAtMs + resendMs, outageEndMs);
      return this.#arrive(leavesMs + delayMs + jitter * jitterMs);
    }
    if (isLost || outageEndMs > nowMs) return this.#lose();
    return this.#arrive(this.#freeAtMs + delayMs + jitter * jitterMs);
  }

  #lose(): undefined {
    this.lost += 1;
    return undefined;
  }

  #arrive(atMs: number): number {
    this.#lastArrivalMs = Math.max(this.#lastArrivalMs, atMs);
    return this.#lastArrivalMs;
  }

  /** The model of Gilbert: a state in which packets pass, and one in which all are lost. */
  #isLost(fate: number): boolean {
    const { loss, burst } = this.#conditions;
    if (burst <= 1 || loss >= 1) this.#wasLost = fate < loss;
    else if (this.#wasLost) this.#wasLost = fate < 1 - 1 / burst;
    else this.#wasLost = fate < loss / (burst * (1 - loss));
    return this.#wasLost;
  }

  #outageEndMs(nowMs: number): number {
    const { outage } = this.#conditions;
    if (outage === undefined) return this.#outageUntilMs;
    const into = nowMs % outage.everyMs;
    // Outages are at the end of each interval, so that a session can begin before the first.
    const isOut = into >= outage.everyMs - outage.lastsMs;
    return Math.max(this.#outageUntilMs, isOut ? nowMs - into + outage.everyMs : Number.NEGATIVE_INFINITY);
  }
}

function checkConditions(conditions: LinkConditions): LinkConditions {
  const { delayMs, jitterMs, loss, burst, kilobitsPerSecond, outage } = conditions;
  const isTime = (ms: number) => ms >= 0 && ms <= DELAY_MS_MAX;
  const mistake =
    !isTime(delayMs) || !isTime(jitterMs)
      ? `delayMs and jitterMs are 0 to ${DELAY_MS_MAX}`
      : !(loss >= 0 && loss <= 1)
        ? "loss is a share from 0 to 1"
        : !(burst >= 1)
          ? "burst is at least 1"
          : !(kilobitsPerSecond > 0)
            ? "kilobitsPerSecond is greater than 0"
            : outage !== undefined && !(outage.lastsMs >= 0 && outage.lastsMs < outage.everyMs)
              ? "an outage is shorter than its interval"
              : undefined;
  if (mistake === undefined) return conditions;
  throw new NowcastError("misuse", `the conditions of a link are invalid: ${mistake}`, {
    code: "invalid_argument",
  });
}
