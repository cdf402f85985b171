/**
 * Packet numbers: 16 bits in packets, and unlimited in memory (`spec/SESSION.md`, sections 5 and
 * 6).
 */
import type { Acknowledgement } from "./packets.js";
import { MalformedPacket } from "./reader.js";

const NUMBER_SPAN = 0x10000;
const REMEMBERED = 1_024;
const RANGES_MAX = 32;

/**
 * The number with these low bits that is nearest to `largestReceived + 1`. Of two equally near
 * numbers it is the larger, and it is never negative.
 */
export function unfoldNumber(low: number, largestReceived: number): number {
  const expected = largestReceived + 1;
  let number = expected - (expected % NUMBER_SPAN) + low;
  if (number - expected > NUMBER_SPAN / 2) number -= NUMBER_SPAN;
  else if (expected - number >= NUMBER_SPAN / 2) number += NUMBER_SPAN;
  return number < 0 ? number + NUMBER_SPAN : number;
}

/** The ranges of an acknowledgement in descending order, each as its first and last number. */
export function unfoldAcknowledgement(ack: Acknowledgement, largestSent: number): [number, number][] {
  const malformed = new MalformedPacket("acknowledges what was never sent");
  const largest =
    largestSent - ((((largestSent - ack.largestLow) % NUMBER_SPAN) + NUMBER_SPAN) % NUMBER_SPAN);
  if (largest < 0 || ack.first > largest) throw malformed;
  let low = largest - Number(ack.first);
  const ranges: [number, number][] = [[low, largest]];
  for (const [gap, length] of ack.ranges) {
    const high = low - Number(gap) - 2;
    low = high - Number(length);
    if (!(low >= 0)) throw malformed;
    ranges.push([low, high]);
  }
  return ranges;
}

export type Arrival = "new" | "duplicate" | "ancient";

/** The received packet numbers among the last 1,024. */
export class ReceivedNumbers {
  largest = -1;
  readonly #seen = new Uint8Array(REMEMBERED);

  /** Classifies a packet of this number, without changing anything. */
  judge(number: number): Arrival {
    if (number > this.largest) return "new";
    if (number <= this.largest - REMEMBERED) return "ancient";
    return this.#seen[number % REMEMBERED] ? "duplicate" : "new";
  }

  /** Records a number. Returns whether it left or changed a gap. */
  add(number: number): { readonly leavesGap: boolean } {
    const leavesGap = number > this.largest + 1;
    if (number > this.largest) {
      const from = Math.max(this.largest + 1, number - REMEMBERED + 1);
      for (let between = from; between < number; between++) this.#seen[between % REMEMBERED] = 0;
      this.largest = number;
    }
    this.#seen[number % REMEMBERED] = 1;
    return { leavesGap };
  }

  /** The acknowledgement: at most 32 ranges, newest first. */
  acknowledgement(delay: number): Acknowledgement | undefined {
    if (this.largest < 0) return undefined;
    const oldest = Math.max(0, this.largest - REMEMBERED + 1);
    const runs: [number, number][] = [];
    let number = this.largest;
    while (number >= oldest && runs.length < RANGES_MAX) {
      const high = number;
      while (number >= oldest && this.#seen[number % REMEMBERED]) number -= 1;
      runs.push([number + 1, high]);
      while (number >= oldest && !this.#seen[number % REMEMBERED]) number -= 1;
    }
    const ranges = runs.slice(1).map(([low, high], index): [number, number] => {
      const above = runs[index]![0];
      return [above - high - 2, high - low];
    });
    const [first] = runs as [[number, number]];
    return { largestLow: this.largest % NUMBER_SPAN, delay, first: first[1] - first[0], ranges };
  }
}
