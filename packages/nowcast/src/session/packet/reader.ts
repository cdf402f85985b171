import { toUInt64, type UInt64 } from "../../queue/uint64.js";

/** A packet that cannot be read, and the field at which reading ended. */
export class MalformedPacket extends Error {
  constructor(readonly field: string) {
    super(`malformed packet: ${field}`);
  }
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads a packet from beginning to end, and never beyond its end (`spec/SESSION.md`, section 2).
 */
export class PacketReader {
  #offset = 0;
  readonly #view: DataView;

  constructor(readonly packet: Uint8Array) {
    this.#view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
  }

  get left(): number {
    return this.packet.length - this.#offset;
  }

  u8(field: string): number {
    this.#need(1, field);
    return this.packet[this.#offset++]!;
  }

  u16(field: string): number {
    this.#need(2, field);
    this.#offset += 2;
    return this.#view.getUint16(this.#offset - 2, true);
  }

  u24(field: string): number {
    this.#need(3, field);
    this.#offset += 3;
    return this.#view.getUint16(this.#offset - 3, true) + this.packet[this.#offset - 1]! * 0x10000;
  }

  u64(field: string): UInt64 {
    this.#need(8, field);
    this.#offset += 8;
    return toUInt64(this.#view.getBigUint64(this.#offset - 8, true));
  }

  varint(field: string): UInt64 {
    let value = 0;
    let scale = 1;
    for (let length = 1; length <= 7; length++) {
      const byte = this.u8(field);
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return this.#shortest(value, byte, length, field);
      scale *= 0x80;
    }
    let large = BigInt(value);
    for (let length = 8; length <= 10; length++) {
      const byte = this.u8(field);
      large += BigInt(byte & 0x7f) << BigInt(7 * (length - 1));
      if (large >= 2n ** 64n) break;
      if (byte < 0x80) return this.#shortest(toUInt64(large), byte, length, field);
    }
    throw new MalformedPacket(field);
  }

  #shortest(value: UInt64, last: number, length: number, field: string): UInt64 {
    if (last === 0 && length > 1) throw new MalformedPacket(field);
    return value;
  }

  /** A varint that is at most `max`. */
  small(field: string, max: number, min = 0): number {
    const value = this.varint(field);
    if (value < min || value > max) throw new MalformedPacket(field);
    return Number(value);
  }

  /** A number of bytes; a view that is valid as long as the packet. */
  fixed(length: number, field: string): Uint8Array {
    this.#need(length, field);
    this.#offset += length;
    return this.packet.subarray(this.#offset - length, this.#offset);
  }

  /** Reads a length and that many bytes. */
  bytes(field: string): Uint8Array {
    return this.fixed(this.small(field, this.left), field);
  }

  text(field: string, bytesMax: number): string {
    const bytes = this.bytes(field);
    if (bytes.length > bytesMax) throw new MalformedPacket(field);
    try {
      return strictUtf8.decode(bytes);
    } catch {
      throw new MalformedPacket(field);
    }
  }

  rest(): Uint8Array {
    return this.fixed(this.left, "rest");
  }

  #need(length: number, field: string): void {
    if (this.left < length) throw new MalformedPacket(field);
  }
}
