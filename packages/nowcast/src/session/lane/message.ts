import type { UInt64 } from "../../queue/uint64.js";
import { PART_BYTES } from "../limits.js";
import type { EventKind } from "../packet/frames.js";
import type { Sendable } from "../sent.js";
import type { KeyHistory } from "./overdue.js";

/** A bound message: it has its number or stamp, and is sent whole or in parts until it is acknowledged. */
abstract class BoundMessage implements Sendable {
  /** A version number. It grows when the message is turned into another one, for example when a command expires. */
  generation = 0;
  #value: Uint8Array;
  /** Parts to send, in order. */
  #toSend: number[] = [];
  #copiesInFlight: Uint8Array;
  #isAcknowledged: Uint8Array;
  #missing: number;
  #wholeBytesMax: number;

  constructor(
    value: Uint8Array,
    wholeBytesMax: number,
    readonly onChange: (message: BoundMessage) => void,
  ) {
    this.#wholeBytesMax = wholeBytesMax;
    this.#value = value;
    const parts = this.parts;
    this.#copiesInFlight = new Uint8Array(parts);
    this.#isAcknowledged = new Uint8Array(parts);
    this.#missing = parts;
    for (let part = 0; part < parts; part++) this.#toSend.push(part);
  }

  get value(): Uint8Array {
    return this.#value;
  }

  get isWhole(): boolean {
    return this.#value.length <= this.#wholeBytesMax;
  }

  get parts(): number {
    return this.isWhole ? 1 : Math.ceil(this.#value.length / PART_BYTES);
  }

  get isArrived(): boolean {
    return this.#missing === 0;
  }

  get wantsSending(): boolean {
    return this.#toSend.length > 0;
  }

  /**
   * On a carrier with smaller packets, a message that was sent whole may have to be sent in parts.
   */
  fitInto(wholeBytesMax: number): void {
    if (!this.isWhole || this.#value.length <= wholeBytesMax) return;
    this.#wholeBytesMax = wholeBytesMax;
    this.generation += 1;
    const parts = this.parts;
    this.#toSend = Array.from({ length: parts }, (_, part) => part);
    this.#copiesInFlight = new Uint8Array(parts);
    this.#isAcknowledged = new Uint8Array(parts);
    this.#missing = parts;
  }

  nextPart(): number {
    return this.#toSend[0]!;
  }

  partBytes(part: number): Uint8Array {
    return this.#value.subarray(part * PART_BYTES, (part + 1) * PART_BYTES);
  }

  sent(part: number): void {
    if (this.#toSend[0] === part) this.#toSend.shift();
    if (this.#copiesInFlight[part]! < 255) this.#copiesInFlight[part]! += 1;
  }

  acknowledged(part: number, generation: number): void {
    // A peer that received the command before it expired needs no replacement.
    if (generation !== this.generation && this.parts > 1) return;
    if (this.#isAcknowledged[part]) return;
    this.#isAcknowledged[part] = 1;
    this.#missing -= 1;
    this.#toSend = this.#toSend.filter((waiting) => waiting !== part);
    this.onChange(this);
  }

  lost(part: number, generation: number): void {
    if (generation !== this.generation || this.#isAcknowledged[part]) return;
    this.#copiesInFlight[part]! -= 1;
    if (this.#copiesInFlight[part] === 0) this.#sendAgain(part);
  }

  /** A probe carries this part, or the first missing one, regardless of packets in flight. */
  probe(part = this.#isAcknowledged.indexOf(0), generation = this.generation): void {
    if (part < 0 || generation !== this.generation || this.#isAcknowledged[part]) return;
    this.#sendAgain(part);
  }

  /** Turns the message into another one, which was never sent. */
  protected restart(value: Uint8Array): void {
    this.generation += 1;
    this.#value = value;
    this.#toSend = [0];
    this.#copiesInFlight = new Uint8Array(1);
    this.#isAcknowledged = new Uint8Array(1);
    this.#missing = 1;
    this.onChange(this);
  }

  #sendAgain(part: number): void {
    if (!this.#toSend.includes(part)) this.#toSend.push(part);
    this.onChange(this);
  }
}

/** One value of one key. */
export class BoundState extends BoundMessage {
  constructor(
    readonly interval: number,
    readonly key: UInt64,
    readonly stamp: number,
    value: Uint8Array,
    readonly producedAtUs: number,
    readonly history: KeyHistory,
    wholeBytesMax: number,
    onChange: (state: BoundState) => void,
  ) {
    super(value, wholeBytesMax, (message) => onChange(message as BoundState));
  }
}

/** One event, command, reply, barrier, or the replacement of an expired command. */
export class BoundEvent extends BoundMessage {
  kind: EventKind;

  constructor(
    /** The id that the application uses; barriers have none. */
    readonly id: number | undefined,
    readonly number: number,
    kind: EventKind,
    readonly before: UInt64,
    readonly answers: number | undefined,
    value: Uint8Array,
    wholeBytesMax: number,
    onChange: (event: BoundEvent) => void,
  ) {
    super(value, wholeBytesMax, (message) => onChange(message as BoundEvent));
    this.kind = kind;
  }

  expire(): void {
    this.kind = 4;
    this.restart(new Uint8Array(0));
  }
}
