/** Packets as a whole: HELLO, WELCOME, REFUSE and data (`spec/SESSION.md`, sections 4 to 6). */
import type { UInt64 } from "../../queue/uint64.js";
import { type Limits, readLimits, writeLimits } from "../limits.js";
import { writeFrame } from "./builder.js";
import { type Frame, readFrame } from "./frames.js";
import { MalformedPacket, PacketReader } from "./reader.js";
import type { PacketWriter } from "./writer.js";

export const VERSION = 1;
const HELLO = 0x80;
const WELCOME = 0x81;
const REFUSE = 0x82;
const MAGIC = Uint8Array.of(0x4e, 0x4f, 0x57, 0x43);
const HELLO_BYTES_MIN = 160;
const REFUSE_TEXT_BYTES_MAX = 64;
const RANGES_MAX = 31;

/** The id of a session, and the token that lets its peer resume it. */
export interface Ticket {
  readonly session: Uint8Array;
  readonly token: Uint8Array;
  readonly epoch: UInt64;
}

export interface Hello {
  readonly type: "hello";
  readonly versionMin: UInt64;
  readonly versionMax: UInt64;
  readonly nonce: Uint8Array;
  readonly clock: UInt64;
  readonly limits: Limits;
  readonly resume: Ticket | undefined;
}

export interface Welcome extends Ticket {
  readonly type: "welcome";
  readonly version: UInt64;
  readonly nonce: Uint8Array;
  readonly proof: Uint8Array;
  readonly helloClock: UInt64;
  readonly clock: UInt64;
  readonly limits: Limits;
}

export interface Refuse {
  readonly type: "refuse";
  readonly nonce: Uint8Array;
  readonly code: number;
  readonly versionMin: UInt64;
  readonly versionMax: UInt64;
  readonly text: string;
}

export interface Acknowledgement {
  readonly largestLow: number;
  /**
   * Time between the arrival of the packet with the largest number and the departure of this
   * packet, in units of 16 µs.
   */
  readonly delay: UInt64;
  readonly first: UInt64;
  /** Gap and length, downwards. */
  readonly ranges: readonly (readonly [UInt64, UInt64])[];
}

export interface DataHead {
  readonly numberLow: number;
  readonly time: number;
  readonly ack: Acknowledgement | undefined;
}

export interface DataPacket extends DataHead {
  readonly type: "data";
  readonly frames: readonly Frame[];
}

export type Packet = Hello | Welcome | Refuse | DataPacket;

/** Reads a whole packet, or throws {@link MalformedPacket}. Byte fields are views of `bytes`. */
export function readPacket(bytes: Uint8Array): Packet {
  const reader = new PacketReader(bytes);
  const type = reader.u8("type");
  if (type >= 0x80) return readHandshake(reader, type);
  const hasRanges = (type & 2) !== 0;
  const hasAck = (type & 1) !== 0;
  if (type > 3 || (hasRanges && !hasAck)) throw new MalformedPacket("flags");
  const numberLow = reader.u16("number");
  const time = reader.u24("time");
  const ack = hasAck ? readAcknowledgement(reader, hasRanges) : undefined;
  const frames: Frame[] = [];
  while (reader.left > 0) frames.push(readFrame(reader));
  return { type: "data", numberLow, time, ack, frames };
}

function readHandshake(reader: PacketReader, type: number): Hello | Welcome | Refuse {
  switch (type) {
    case HELLO:
      return readHello(reader);
    case WELCOME:
      return readWelcome(reader);
    case REFUSE:
      return readRefuse(reader);
    default:
      throw new MalformedPacket("type");
  }
}

/**
 * Returns the nonce of a possible HELLO, if it can be read. Otherwise returns zeros, which replace
 * the nonce in a refusal.
 */
export function readNonce(bytes: Uint8Array): Uint8Array {
  const reader = new PacketReader(bytes);
  try {
    const isHello =
      reader.u8("type") === HELLO && reader.fixed(4, "magic").every((byte, at) => byte === MAGIC[at]);
    reader.varint("version_min");
    reader.varint("version_max");
    return isHello ? reader.fixed(8, "nonce") : new Uint8Array(8);
  } catch (error) {
    if (error instanceof MalformedPacket) return new Uint8Array(8);
    throw error;
  }
}

function readHello(reader: PacketReader): Hello {
  const magic = reader.fixed(4, "magic");
  if (magic.some((byte, index) => byte !== MAGIC[index])) throw new MalformedPacket("magic");
  const versionMin = reader.varint("version_min");
  const versionMax = reader.varint("version_max");
  if (versionMin > versionMax) throw new MalformedPacket("version_max");
  const nonce = reader.fixed(8, "nonce");
  const clock = reader.u64("clock");
  const limits = readLimits(reader);
  const resumes = reader.u8("resume");
  if (resumes > 1) throw new MalformedPacket("resume");
  const resume = resumes === 1 ? readTicket(reader) : undefined;
  const isPadded = reader.packet.length >= HELLO_BYTES_MIN && reader.rest().every((byte) => byte === 0);
  if (!isPadded) throw new MalformedPacket("padding");
  return { type: "hello", versionMin, versionMax, nonce, clock, limits, resume };
}

function readTicket(reader: PacketReader): Ticket {
  const session = reader.fixed(8, "session");
  const token = reader.fixed(16, "token");
  return { session, token, epoch: reader.varint("epoch") };
}

function readWelcome(reader: PacketReader): Welcome {
  const version = reader.varint("version");
  const nonce = reader.fixed(8, "nonce");
  const proof = reader.fixed(8, "proof");
  const ticket = readTicket(reader);
  const helloClock = reader.u64("hello_clock");
  const clock = reader.u64("clock");
  const limits = readLimits(reader);
  requireEnd(reader);
  return { type: "welcome", version, nonce, proof, ...ticket, helloClock, clock, limits };
}

function readRefuse(reader: PacketReader): Refuse {
  const nonce = reader.fixed(8, "nonce");
  const code = reader.small("code", 2 ** 32 - 1);
  const versionMin = reader.varint("version_min");
  const versionMax = reader.varint("version_max");
  const text = reader.text("text", REFUSE_TEXT_BYTES_MAX);
  requireEnd(reader);
  return { type: "refuse", nonce, code, versionMin, versionMax, text };
}

function requireEnd(reader: PacketReader): void {
  if (reader.left > 0) throw new MalformedPacket("end");
}

function readAcknowledgement(reader: PacketReader, hasRanges: boolean): Acknowledgement {
  const largestLow = reader.u16("ack largest");
  const delay = reader.varint("ack delay");
  const first = reader.varint("ack first");
  const count = hasRanges ? reader.small("ack count", RANGES_MAX, 1) : 0;
  const ranges: [UInt64, UInt64][] = [];
  while (ranges.length < count) ranges.push([reader.varint("ack gap"), reader.varint("ack length")]);
  return { largestLow, delay, first, ranges };
}

export function writePacket(writer: PacketWriter, packet: Packet): void {
  switch (packet.type) {
    case "hello":
      return writeHello(writer, packet);
    case "welcome":
      return writeWelcome(writer, packet);
    case "refuse":
      return writeRefuse(writer, packet);
    case "data":
      writeDataHead(writer, packet);
      for (const frame of packet.frames) writeFrame(writer, frame);
  }
}

function writeHello(writer: PacketWriter, hello: Hello): void {
  writer.u8(HELLO);
  writer.fixed(MAGIC);
  writer.varint(hello.versionMin);
  writer.varint(hello.versionMax);
  writer.fixed(hello.nonce);
  writer.u64(hello.clock);
  writeLimits(writer, hello.limits);
  writer.u8(hello.resume ? 1 : 0);
  if (hello.resume) writeTicket(writer, hello.resume);
  writer.zeros(Math.max(0, HELLO_BYTES_MIN - writer.length));
}

function writeTicket(writer: PacketWriter, ticket: Ticket): void {
  writer.fixed(ticket.session);
  writer.fixed(ticket.token);
  writer.varint(ticket.epoch);
}

function writeWelcome(writer: PacketWriter, welcome: Welcome): void {
  writer.u8(WELCOME);
  writer.varint(welcome.version);
  writer.fixed(welcome.nonce);
  writer.fixed(welcome.proof);
  writeTicket(writer, welcome);
  writer.u64(welcome.helloClock);
  writer.u64(welcome.clock);
  writeLimits(writer, welcome.limits);
}

function writeRefuse(writer: PacketWriter, refuse: Refuse): void {
  writer.u8(REFUSE);
  writer.fixed(refuse.nonce);
  writer.varint(refuse.code);
  writer.varint(refuse.versionMin);
  writer.varint(refuse.versionMax);
  writer.text(refuse.text, REFUSE_TEXT_BYTES_MAX);
}

/** Writes the header and the acknowledgement, after which frames follow. */
export function writeDataHead(writer: PacketWriter, { numberLow, time, ack }: DataHead): void {
  const hasRanges = ack !== undefined && ack.ranges.length > 0;
  writer.u8((ack ? 1 : 0) | (hasRanges ? 2 : 0));
  writer.u16(numberLow);
  writer.u24(time);
  if (!ack) return;
  writer.u16(ack.largestLow);
  writer.varint(ack.delay);
  writer.varint(ack.first);
  if (hasRanges) writer.varint(ack.ranges.length);
  for (const [gap, length] of ack.ranges) {
    writer.varint(gap);
    writer.varint(length);
  }
}
