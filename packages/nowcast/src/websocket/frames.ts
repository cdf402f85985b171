import { NowcastError } from "../errors/nowcast-error.js";

/** RFC 6455, section 5.2. */
export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

const FIN_BIT = 0x80;
const MASK_BIT = 0x80;
const CONTROL_BYTES_MAX = 125;
/**
 * A message may always have this number of fragments. More fragments are allowed if their average size is at least the
 * second constant.
 */
const FRAGMENTS_MIN = 16;
const FRAGMENT_BYTES = 256;

/** A violation of RFC 6455, with the close code for the peer. */
export class FrameError extends NowcastError {
  override readonly closeCode: number;

  constructor(closeCode: number, message: string) {
    super("peer-misbehaved", message, { code: "violation" });
    this.name = "FrameError";
    this.closeCode = closeCode;
  }
}

/** A whole message, assembled from its fragments, or a control frame. */
export interface FramedMessage {
  readonly opcode: number;
  readonly payload: Uint8Array<ArrayBuffer>;
}

interface FrameHead {
  readonly fin: boolean;
  readonly opcode: number;
  readonly length: number;
  readonly mask: Uint8Array | undefined;
}

/**
 * Converts a peer's byte stream to messages. It stores at most one message and the rest of the last
 * chunk.
 */
export class FrameParser {
  readonly #messageBytesMax: number;
  readonly #peer: "client" | "server";
  #chunks: Uint8Array[] = [];
  #available = 0;
  #head: FrameHead | undefined;
  #fragments: Uint8Array<ArrayBuffer>[] = [];
  #fragmentBytes = 0;
  /**
   * How many fragments the current message has. It is limited, because empty fragments cost time although they take no
   * memory.
   */
  #fragmentCount = 0;
  readonly #fragmentsMax: number;
  #fragmentOpcode: number | undefined;

  constructor(messageBytesMax: number, peer: "client" | "server") {
    this.#messageBytesMax = messageBytesMax;
    this.#fragmentsMax = FRAGMENTS_MIN + Math.floor(messageBytesMax / FRAGMENT_BYTES);
    this.#peer = peer;
  }

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#available += chunk.length;
  }

  /** The next message, or `undefined` until more bytes arrive. */
  next(): FramedMessage | undefined {
    for (;;) {
      this.#head ??= this.#readHead();
      if (this.#head === undefined || this.#available < this.#head.length) return undefined;
      const { fin, opcode, length, mask } = this.#head;
      this.#head = undefined;
      const payload = this.#take(length);
      if (mask !== undefined) applyMask(payload, mask);
      if (opcode >= OPCODE.close) return { opcode, payload };
      const message = this.#assemble(fin, opcode, payload);
      if (message !== undefined) return message;
    }
  }

  #assemble(fin: boolean, opcode: number, payload: Uint8Array<ArrayBuffer>): FramedMessage | undefined {
    if (opcode === OPCODE.continuation && this.#fragmentOpcode === undefined) {
      throw new FrameError(1002, "a continuation of nothing");
    }
    if (opcode !== OPCODE.continuation && this.#fragmentOpcode !== undefined) {
      throw new FrameError(1002, "a new message inside a fragmented one");
    }
    const first = this.#fragmentOpcode ?? opcode;
    if (fin && this.#fragmentCount === 0) {
      return { opcode: first, payload };
    }
    this.#fragmentOpcode = first;
    this.#fragmentCount += 1;
    if (this.#fragmentCount > this.#fragmentsMax) {
      throw new FrameError(1002, `a message of more than ${this.#fragmentsMax} fragments`);
    }
    if (payload.length > 0) this.#fragments.push(payload);
    this.#fragmentBytes += payload.length;
    if (!fin) return undefined;
    const whole = joined(this.#fragments, this.#fragmentBytes);
    this.#fragments = [];
    this.#fragmentBytes = 0;
    this.#fragmentCount = 0;
    this.#fragmentOpcode = undefined;
    return { opcode: first, payload: whole };
  }

  #readHead(): FrameHead | undefined {
    if (this.#available < 2) return undefined;
    const [first, second] = [this.#peek(0), this.#peek(1)];
    const opcode = first & 0x0f;
    const fin = (first & FIN_BIT) !== 0;
    if ((first & 0x70) !== 0)
      throw new FrameError(1002, "a reserved bit is set, though no extension was agreed");
    if ((opcode > OPCODE.binary && opcode < OPCODE.close) || opcode > OPCODE.pong) {
      throw new FrameError(1002, `opcode ${opcode} does not exist`);
    }
    const isMasked = (second & MASK_BIT) !== 0;
    if (isMasked !== (this.#peer === "client")) {
      throw new FrameError(1002, isMasked ? "a server must not mask" : "a client must mask");
    }
    const short = second & 0x7f;
    if (opcode >= OPCODE.close && (!fin || short > CONTROL_BYTES_MAX)) {
      throw new FrameError(1002, "a control frame is fragmented or longer than 125 bytes");
    }
    const lengthBytes = short < 126 ? 0 : short === 126 ? 2 : 8;
    const maskBytes = isMasked ? 4 : 0;
    if (this.#available < 2 + lengthBytes + maskBytes) return undefined;
    this.#take(2);
    let length = lengthBytes === 0 ? short : 0;
    for (const byte of this.#take(lengthBytes)) length = length * 256 + byte;
    if (length + this.#fragmentBytes > this.#messageBytesMax) {
      throw new FrameError(1009, `a message of more than ${this.#messageBytesMax} bytes`);
    }
    const mask = isMasked ? this.#take(maskBytes) : undefined;
    return { fin, opcode, length, mask };
  }

  #peek(index: number): number {
    let skipped = 0;
    for (const chunk of this.#chunks) {
      if (index - skipped < chunk.length) return chunk[index - skipped]!;
      skipped += chunk.length;
    }
    throw new Error("peeked beyond what is available");
  }

  /** Removes `length` bytes from the front. The caller has checked that they exist. */
  #take(length: number): Uint8Array<ArrayBuffer> {
    const taken = new Uint8Array(length);
    let filled = 0;
    let used = 0;
    while (filled < length) {
      const chunk = this.#chunks[used]!;
      const part = chunk.subarray(0, length - filled);
      taken.set(part, filled);
      filled += part.length;
      if (part.length === chunk.length) used++;
      else this.#chunks[used] = chunk.subarray(part.length);
    }
    this.#chunks.splice(0, used);
    this.#available -= length;
    return taken;
  }
}

/**
 * Writes one whole frame. It is masked with `key`, as RFC 6455 requires of clients, or unmasked, as
 * required of servers.
 */
export function encodeFrame(
  opcode: number,
  payload: Uint8Array,
  key: Uint8Array | undefined,
): Uint8Array<ArrayBuffer> {
  const { length } = payload;
  const lengthBytes = length < 126 ? 0 : length < 0x1_0000 ? 2 : 8;
  const start = 2 + lengthBytes + (key === undefined ? 0 : 4);
  const frame = new Uint8Array(start + length);
  const view = new DataView(frame.buffer);
  frame[0] = FIN_BIT | opcode;
  frame[1] =
    (key === undefined ? 0 : MASK_BIT) | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) view.setUint16(2, length);
  if (lengthBytes === 8) view.setBigUint64(2, BigInt(length));
  frame.set(payload, start);
  if (key === undefined) return frame;
  frame.set(key.subarray(0, 4), start - 4);
  applyMask(frame.subarray(start), key);
  return frame;
}

function applyMask(bytes: Uint8Array, key: Uint8Array): void {
  for (let i = 0; i < bytes.length; i++) bytes[i] = key[i & 3]! ^ bytes[i]!;
}

/**
 * Makes the payload of a close frame. A long reason is cut, because control frames hold 125 bytes.
 */
export function closePayload(code: number, reason: string): Uint8Array<ArrayBuffer> {
  const payload = new Uint8Array(CONTROL_BYTES_MAX);
  new DataView(payload.buffer).setUint16(0, code);
  const { written } = new TextEncoder().encodeInto(reason, payload.subarray(2));
  return payload.slice(0, 2 + written);
}

/** Reads the code and the reason of a close frame; 1005 means a frame without a code. */
export function readClosePayload(payload: Uint8Array): { readonly code: number; readonly reason: string } {
  if (payload.length === 0) return { code: 1005, reason: "" };
  if (payload.length === 1) throw new FrameError(1002, "a close frame of one byte");
  const code = (payload[0]! << 8) | payload[1]!;
  return { code, reason: readUtf8(payload.subarray(2)) };
}

export function readUtf8(payload: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(payload);
  } catch {
    throw new FrameError(1007, "text that is not UTF-8");
  }
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
