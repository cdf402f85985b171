/** Writes bytes into a buffer that grows and is reused. */
export class WireOutput {
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(1024);
  view = new DataView(this.bytes.buffer);
  at = 0;

  /** Returns a copy of the written bytes, and starts again. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.bytes.slice(0, this.at);
    this.at = 0;
    return taken;
  }

  /** Makes room for `length` bytes and returns the offset of the first one. */
  reserve(length: number): number {
    const at = this.at;
    this.at = at + length;
    if (this.at > this.bytes.length) {
      const grown = new Uint8Array(Math.max(this.at, this.bytes.length * 2));
      grown.set(this.bytes);
      this.bytes = grown;
      this.view = new DataView(grown.buffer);
    }
    return at;
  }

  /** Like `reserve`, with all bits cleared. */
  reserveZeros(length: number): number {
    const at = this.reserve(length);
    this.bytes.fill(0, at, this.at);
    return at;
  }

  u8(value: number): void {
    const at = this.reserve(1);
    this.bytes[at] = value;
  }

  f64(value: number): void {
    const at = this.reserve(8);
    this.view.setFloat64(at, value, true);
  }

  raw(bytes: Uint8Array): void {
    const at = this.reserve(bytes.length);
    this.bytes.set(bytes, at);
  }

  /** LEB128 of an unsigned integer with up to 64 bits. */
  varint(value: number | bigint): void {
    let rest = value;
    if (typeof rest === "bigint") {
      while (rest > 0xffff_ffffn) {
        this.u8(Number(rest & 0x7fn) | 0x80);
        rest >>= 7n;
      }
      rest = Number(rest);
    }
    while (rest >= 0x80) {
      this.u8((rest % 128) | 0x80);
      rest = Math.floor(rest / 128);
    }
    this.u8(rest);
  }

  zigzag(value: number | bigint): void {
    if (typeof value === "number" && value > -(2 ** 51) && value < 2 ** 51) {
      return this.varint(value < 0 ? -2 * value - 1 : 2 * value);
    }
    const big = BigInt(value);
    this.varint(BigInt.asUintN(64, (big << 1n) ^ (big >> 63n)));
  }

  /** Writes UTF-8, with U+FFFD for a lone surrogate. Returns the number of bytes. */
  text(text: string): number {
    const start = this.reserve(text.length * 3);
    if (text.length < 24) {
      let i = 0;
      for (; i < text.length; i++) {
        const unit = text.charCodeAt(i);
        if (unit >= 0x80) break;
        this.bytes[start + i] = unit;
      }
      if (i === text.length) {
        this.at = start + i;
        return i;
      }
    }
    const { written } = utf8.encodeInto(text, this.bytes.subarray(start, this.at));
    this.at = start + written;
    return written;
  }
}

const utf8 = new TextEncoder();
