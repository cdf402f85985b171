/**
 * On typed lanes, two ends with different versions of a type can read each other's values
 * (`spec/WIRE.md`, section 3.2). Before the first value of a type, an event on the same lane
 * announces its shape under a number, and each value begins with that number. Announcements are not
 * passed on to the application. A reply contains its announcement, because its receiver may not
 * read events.
 */
import { WireError } from "../errors/nowcast-error.js";

/** `\0NCTYPED`: the prefix of typed replies, and of events that are not sent as the application wrote them. */
const MARK = [0, 0x4e, 0x43, 0x54, 0x59, 0x50, 0x45, 0x44];
/**
 * This byte after the mark says that an event of the application follows. Only events that begin with the mark
 * themselves are sent this way.
 */
const ESCAPED = 1;
const ID_MIN = 2;
const ID_MAX = 16_383;
const SHAPES_MAX = 1_024;
const SHAPES_BYTES_MAX = 1_024 * 1_024;

/** Encodes an event of the application. */
export function asEvent(bytes: Uint8Array): Uint8Array {
  return isMarked(bytes) ? joined(Uint8Array.of(...MARK, ESCAPED), bytes) : bytes;
}

/** The announcement of a shape, and the number that is written before each value of this shape. */
interface Announcement {
  readonly event: Uint8Array;
  readonly head: Uint8Array;
  readonly lanes: Set<number>;
}

/** A channel's shapes, in both directions. */
export class Schemas {
  readonly #ours = new Map<string, Announcement>();
  readonly #theirs = new Map<number, Uint8Array>();
  /** The lanes on which the peer has announced a shape. */
  readonly #typed = new Set<number>();
  #bytes = 0;
  /** The fault of the peer's last invalid announcement. */
  #fault = "";

  /**
   * Returns the header for values of a shape, after `put` has announced the shape on the lane.
   * Returns `undefined` if the lane has no room for the announcement.
   */
  announce(lane: number, schema: Uint8Array, put: (event: Uint8Array) => boolean): Uint8Array | undefined {
    const { event, head, lanes } = this.#announcement(schema);
    if (!lanes.has(lane) && !put(event)) return undefined;
    lanes.add(lane);
    return head;
  }

  /** Returns the header of a reply's value. */
  headOfReply(schema: Uint8Array): Uint8Array {
    const { event, head } = this.#announcement(schema);
    return joined(event, head);
  }

  #announcement(schema: Uint8Array): Announcement {
    const key = schema.join();
    let known = this.#ours.get(key);
    if (known === undefined) {
      const head = Uint8Array.from(varint(ID_MIN + this.#ours.size));
      const event = joined(Uint8Array.of(...MARK, 0, ...head, ...varint(schema.length)), schema);
      known = { event, head, lanes: new Set() };
      this.#ours.set(key, known);
    }
    return known;
  }

  /** Handles a received event. Returns the application's event, or `undefined` for an announcement. */
  takeIn(lane: number, event: Uint8Array): Uint8Array | undefined {
    if (!isMarked(event)) return event;
    const kind = event[MARK.length];
    if (kind === ESCAPED) return event.subarray(MARK.length + 1);
    if (kind !== 0) return event;
    this.#typed.add(lane);
    try {
      if (this.#open(event, MARK.length)[0] !== 0)
        throw new WireError("more than announcements", MARK.length);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#fault ||= `; an announcement of the peer was invalid: ${error.message}`;
    }
    return undefined;
  }

  /** Whether values on this lane begin with the number of their shape. */
  isTyped(lane: number): boolean {
    return this.#typed.has(lane);
  }

  /**
   * Returns the shape and the body of a value. For a reply without a shape, returns only the body.
   */
  split(message: Uint8Array, isReply: boolean): [shape: Uint8Array | undefined, body: Uint8Array] {
    if (isReply && !isMarked(message)) return [undefined, message];
    const [id, at] = this.#open(message, isReply ? MARK.length : 0);
    const schema = this.#theirs.get(id);
    if (schema === undefined)
      throw new WireError(`shape id ${id}, which was never announced${this.#fault}`, 0);
    return [schema, message.subarray(at)];
  }

  /**
   * Reads announcements. Returns the number that follows them and the offset of the body, or 0 at
   * the end of the message.
   */
  #open(message: Uint8Array, start: number): [id: number, at: number] {
    let at = start;
    const next = (): number => {
      let value = 0;
      for (let shift = 1; ; shift *= 128) {
        const byte = message[at];
        if (byte === undefined || shift > 2 ** 28) throw new WireError("a number that is cut off", at);
        at += 1;
        value += (byte & 127) * shift;
        if (byte < 128) return value;
      }
    };
    while (at < message.length) {
      const id = next();
      if (id !== 0) return [id, at];
      const announced = next();
      const end = next() + at;
      if (end > message.length) throw new WireError("a shape that is cut off", at);
      this.#learn(announced, message.slice(at, end), at);
      at = end;
    }
    return [0, at];
  }

  #learn(id: number, schema: Uint8Array, at: number): void {
    const known = this.#theirs.get(id);
    if (known?.join() === schema.join()) return;
    const isFull = this.#theirs.size >= SHAPES_MAX || this.#bytes + schema.length > SHAPES_BYTES_MAX;
    if (known !== undefined || id < ID_MIN || id > ID_MAX) throw new WireError(`a shape under id ${id}`, at);
    if (isFull) throw new WireError("too many shapes", at);
    this.#bytes += schema.length;
    this.#theirs.set(id, schema);
  }
}

/** Concatenates two arrays of bytes. */
export function joined(head: Uint8Array, tail: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(head.length + tail.length);
  bytes.set(head);
  bytes.set(tail, head.length);
  return bytes;
}

function isMarked(bytes: Uint8Array): boolean {
  return MARK.every((byte, at) => bytes[at] === byte);
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}
