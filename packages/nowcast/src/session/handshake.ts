/** How two peers begin, and begin again on another carrier (`spec/SESSION.md`, section 4). */
import type { Count } from "./count.js";
import type { Limits } from "./limits.js";
import { type Hello, type Refuse, type Ticket, VERSION } from "./packet/packets.js";

export const HELLO_WAIT_US_FIRST = 250_000;
const HELLO_WAIT_US_MAX = 2_000_000;

/** An initiator asks until it is answered. */
export class Asking {
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

export function refusal(hello: Hello, code: number, text: string): Refuse {
  return { type: "refuse", nonce: hello.nonce.slice(), code, versionMin: VERSION, versionMax: VERSION, text };
}

export function speaksVersion({ versionMin, versionMax }: Hello | Refuse): boolean {
  return versionMin <= VERSION && versionMax >= VERSION;
}

/** Takes the same time whatever differs. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let index = 0; index < a.length; index++) difference |= a[index]! ^ (b[index] ?? 0);
  return difference === 0;
}

export function shrinks(before: Limits, after: Limits): boolean {
  return (
    after.lanesMax < before.lanesMax ||
    after.windowBytes < before.windowBytes ||
    after.messageBytesMax < before.messageBytesMax
  );
}

export function nextEpoch(epoch: Count): number {
  return Number(epoch) + 1;
}
