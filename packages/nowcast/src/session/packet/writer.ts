import type { UInt64 } from "../../queue/uint64.js";

const utf8 = new TextEncoder();

/** Bytes of a varint. */
export function varintLength(value: UInt64): number {
  if (typeof value === "bigint") {
    let length = 8;
    for (let rest = value >> 56n; rest > 0n; rest >>= 7n) length += 1;
    return length;
  }
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length += 1;
  return length;
}

/** Writes packets into one reused buffer. */
export class PacketWriter {
  readonly #buffer: Uint8Array;
  readonly #view: DataView;
  #length = 0;

  constructor(bytesMax: number) {
    this.#buffer = new Uint8Array(bytesMax);
    this.#view = new DataView(this.#buffer.buffer);
  }

  get length(): number {
    return this.#length;
  }

  clear(): void {
    this.#length = 0;
  }

  /** Returns a copy of the written bytes. */
  finish(): Uint8Array {
    return this.#buffer.slice(0, this.#length);
  }

  /** Returns a view of the written bytes. */
  written(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  u8(value: number): void {
    this.#buffer[this.#length++] = value;
  }

  u16(value: number): void {
    this.#view.setUint16(this.#length, value % 0x10000, true);
    this.#length += 2;
  }

  u24(value: number): void {
    this.u16(value % 0x10000);
    this.u8(Math.floor(value / 0x10000) % 0x100);
  }

  u32(value: number): void {
    this.#view.setUint32(this.#length, value, true);
    this.#length += 4;
  }

  u64(value: UInt64): void {
    this.#view.setBigUint64(this.#length, BigInt(value), true);
    this.#length += 8;
  }

  varint(value: UInt64): void {
    if (typeof value === "number") {
      let rest = value;
      for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.u8((rest % 0x80) | 0x80);
      this.u8(rest);
      return;
    }
    let rest = value;
    for (; rest >= 0x80n; rest >>= 7n) this.u8(Number(rest & 0x7fn) | 0x80);
    this.u8(Number(rest));
  }

  fixed(bytes: Uint8Array): void {
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  bytes(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.fixed(bytes);
  }

  text(text: string, bytesMax: number): void {
    let bytes = utf8.encode(text);
    // The text is cut between characters. Bytes of the form 0b10xxxxxx continue a character.
    let end = Math.min(bytes.length, bytesMax);
    while (end < bytes.length && end > 0 && (bytes[end]! & 0xc0) === 0x80) end -= 1;
    bytes = bytes.subarray(0, end);
    this.bytes(bytes);
  }

  zeros(count: number): void {
    this.#buffer.fill(0, this.#length, this.#length + count);
    this.#length += count;
  }
}
