/** Repeats an initiator's HELLO until it is answered (`spec/SESSION.md`, section 4). */
import type { Limits } from "./limits.js";
import { type Hello, type Ticket, VERSION } from "./packet/packets.js";

const HELLO_WAIT_US_FIRST = 250_000;
const HELLO_WAIT_US_MAX = 2_000_000;

export class HelloAttempt {
  nextUs: number;
  #waitUs = HELLO_WAIT_US_FIRST;

  constructor(
    readonly beganUs: number,
    readonly nonce: Uint8Array,
    readonly resume: Ticket | undefined,
  ) {
    this.nextUs = beganUs;
  }

  hello(nowUs: number, limits: Limits): Hello {
    this.nextUs = nowUs + this.#waitUs;
    this.#waitUs = Math.min(this.#waitUs * 2, HELLO_WAIT_US_MAX);
    const { nonce, resume } = this;
    return { type: "hello", versionMin: VERSION, versionMax: VERSION, nonce, clock: nowUs, limits, resume };
  }
}
