import type { UInt64 } from "../../queue/uint64.js";
import { PeerFault } from "../fault.js";
import { PART_BYTES } from "../limits.js";

/** The fields, in addition to the total, in which all parts of one message must agree. */
export type PartsHead = readonly UInt64[];

/** A message that arrives in parts (`spec/SESSION.md`, section 7). */
export class Assembly {
  readonly #bytes: Uint8Array;
  readonly #has: Uint8Array;
  #missing: number;

  constructor(
    readonly head: PartsHead,
    readonly total: number,
  ) {
    this.#bytes = new Uint8Array(total);
    this.#missing = Math.ceil(total / PART_BYTES);
    this.#has = new Uint8Array(this.#missing);
  }

  /** Adds a part. Returns the message when no part is missing. */
  add(head: PartsHead, total: number, index: number, part: Uint8Array): Uint8Array | undefined {
    const agrees = total === this.total && head.every((field, at) => field === this.head[at]);
    if (!agrees) throw PeerFault.violation("parts of one message disagree");
    if (!this.#has[index]) {
      this.#has[index] = 1;
      this.#bytes.set(part, index * PART_BYTES);
      this.#missing -= 1;
    }
    return this.#missing === 0 ? this.#bytes : undefined;
  }
}
