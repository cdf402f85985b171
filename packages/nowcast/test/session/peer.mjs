/**
 * One end of a simulated pair of sessions in a separate process, so that a simulation in another language can use this
 * implementation at one end. Needs the built package (`npm run build --workspace nowcast`).
 *
 * Requests arrive on standard input, and answers leave on standard output, each as u32 length (of the rest), u8
 * operation, body. All numbers are little-endian; times are f64 microseconds; `blob` is u32 length and bytes.
 *
 * | operation | body | answer's body |
 * | --- | --- | --- |
 * | 1 begin | f64 now, u8 role (0 initiator, 1 acceptor), carrier, 48 bytes of entropy, u32 window_bytes, u32 message_bytes_max | – |
 * | 2 packet | f64 now, packet to the end | no answer |
 * | 3 wake | f64 now | f64 next wake or −1, status, u32 count, blob packets |
 * | 4 put state | f64 now, u8 lane, u64 key, value to the end | u8 outcome |
 * | 5 put event | f64 now, u8 lane, u8 kind (0 event, 1 command, 2 reply), f64 patience of a command, u64 answers, value to the end | u8 outcome, u64 id |
 * | 6 read | f64 now, u8 with messages | u32 count, messages; u32 count, notices |
 * | 7 detach | f64 now | status |
 * | 8 attach | f64 now, u8 role, carrier, 48 bytes of entropy | status |
 *
 * carrier: u8 is reliable, u16 packet_bytes_max. status: u8 bits: 0 open, 1 detached, 2 closed, 3 settled,
 * 4 has a ticket; with a ticket 8 bytes session, 16 bytes token and u64 epoch follow. outcome: 0 queued, 1 replaced, 2
 * full, 3 too large. message: u8 lane, u8 kind (255 for a state), u64 key or number, blob value. notice: u8 (0 opened, 1
 * resumed, 2 detached, 3 closed, 4 command timed out, 5 reply), u8 lane (of closed: 0 by us, 1 by the peer, 2
 * by silence), u64 id or close code, blob value or reason.
 *
 * An error of the session is the next answer, as operation 255 with the text of the error; `begin` clears it.
 */
import { readSync, writeSync } from "node:fs";
import { Session } from "../../dist/session/index.js";

const OUTCOMES = ["queued", "replaced", "full", "too large"];
const STATE = 255;
const FAILED = 255;
const CLOSED_BY = ["us", "peer", "silence"];
const LANE_CLASSES = [0, 1, 1, 1, 1, 1, 1, 1];
/** More calls at one instant mean an endless loop, because virtual time would never advance. */
const AT_ONCE_MAX = 100_000;
const utf8 = new TextEncoder();

let session;
/** @type {Error | undefined} thrown by a request without answer */
let failure;

/** @type {Record<number, (body: Reader, answer: Writer) => void>} */
const operations = {
  1(body) {
    const now = body.f64();
    const role = body.u8();
    const carrier = readCarrier(body);
    const entropy = body.fixed(48);
    const [windowBytes, messageBytesMax] = [body.u32(), body.u32()];
    const rest = { lanesMax: 8, packetBytesMax: 1_200, idleTimeoutMs: 10_000, resumeTimeoutMs: 60_000 };
    const config = {
      limits: { windowBytes, messageBytesMax, ...rest },
      laneClasses: LANE_CLASSES,
      entriesMax: 4_096,
      bytesMax: 4 << 20,
    };
    failure = undefined;
    const begin = role === 0 ? Session.connect : Session.accept;
    session = begin(now, carrier, entropy, config);
  },
  2(body) {
    session.handlePacket(body.f64(), body.rest());
  },
  3(body, answer) {
    const now = body.f64();
    session.handleTimeout(now);
    const packets = takeAll(() => session.pollPacket(now));
    answer.f64(session.pollTimeout(now) ?? -1);
    writeStatus(answer);
    answer.list(packets, (packet) => answer.blob(packet));
  },
  4(body, answer) {
    const [now, lane, key] = [body.f64(), body.u8(), body.u64()];
    answer.u8(OUTCOMES.indexOf(session.putState(now, lane, key, body.rest())));
  },
  5(body, answer) {
    const [now, lane, kind, patience, answers] = [body.f64(), body.u8(), body.u8(), body.f64(), body.u64()];
    const value = body.rest();
    const put = () => {
      if (kind === 1) return session.command(now, lane, value, patience);
      if (kind === 2) return session.reply(now, lane, Number(answers), value);
      return session.putEvent(now, lane, value);
    };
    const outcome = put();
    const isQueued = typeof outcome === "number";
    answer.u8(isQueued ? 0 : OUTCOMES.indexOf(outcome));
    answer.u64(isQueued ? outcome : 0);
  },
  6(body, answer) {
    const now = body.f64();
    const withMessages = body.u8() === 1;
    answer.list(withMessages ? takeAll(() => session.receive(now)) : [], (message) => {
      answer.u8(message.lane);
      answer.u8(message.type === "state" ? STATE : message.kind);
      answer.u64(message.type === "state" ? message.key : message.number);
      answer.blob(message.value);
    });
    answer.list(
      takeAll(() => session.pollNotice()),
      (notice) => writeNotice(notice, answer),
    );
  },
  7(body, answer) {
    session.detach(body.f64());
    writeStatus(answer);
  },
  8(body, answer) {
    const now = body.f64();
    const role = body.u8() === 0 ? "initiator" : "acceptor";
    const carrier = readCarrier(body);
    session.attach(now, carrier, body.fixed(48), role);
    writeStatus(answer);
  },
};

function readCarrier(body) {
  return { isReliable: body.u8() === 1, packetBytesMax: body.u16() };
}

function writeStatus(answer) {
  const { isOpen, isDetached, isClosed, isSettled, ticket } = session;
  const flags = [isOpen, isDetached, isClosed, isSettled, ticket !== undefined];
  answer.u8(flags.reduce((bits, flag, index) => bits | (Number(flag) << index), 0));
  if (ticket === undefined) return;
  answer.bytes(ticket.session);
  answer.bytes(ticket.token);
  answer.u64(ticket.epoch);
}

function writeNotice(notice, answer) {
  const head = (type, lane, id, value = new Uint8Array(0)) => {
    answer.u8(type);
    answer.u8(lane);
    answer.u64(id);
    answer.blob(value);
  };
  switch (notice.type) {
    case "opened":
      return head(notice.resumed ? 1 : 0, 0, 0);
    case "detached":
      return head(2, 0, 0);
    case "closed":
      return head(
        3,
        CLOSED_BY.indexOf(notice.closed.by),
        notice.closed.code,
        utf8.encode(notice.closed.reason),
      );
    case "command timed out":
      return head(4, notice.lane, notice.command);
    case "reply":
      return head(5, notice.lane, notice.command, notice.value);
    default:
      throw new Error(`unknown notice ${notice.type}`);
  }
}

function takeAll(take) {
  const all = [];
  for (let next = take(); next !== undefined; next = take()) {
    if (all.push(next) > AT_ONCE_MAX) throw new Error("the session gives packets or messages without end");
  }
  return all;
}

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.offset = 0;
  }

  fixed(length) {
    this.offset += length;
    return this.bytes.slice(this.offset - length, this.offset);
  }

  rest() {
    return this.fixed(this.bytes.length - this.offset);
  }

  /** Returns the place of the next `length` bytes. */
  #take(length) {
    this.offset += length;
    return this.offset - length;
  }

  u8() {
    return this.view.getUint8(this.#take(1));
  }

  u16() {
    return this.view.getUint16(this.#take(2), true);
  }

  u32() {
    return this.view.getUint32(this.#take(4), true);
  }

  u64() {
    return this.view.getBigUint64(this.#take(8), true);
  }

  f64() {
    return this.view.getFloat64(this.#take(8), true);
  }
}

/** One answer at a time, in one buffer. */
class Writer {
  #bytes = Buffer.alloc(1 << 16);
  #end = 0;

  /** Returns the place of the next `length` bytes. */
  #take(length) {
    const start = this.#end;
    this.#end += length;
    if (this.#end > this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], 2 * this.#end);
    return start;
  }

  /** Begins an answer: its length, which `finish` writes, and its operation. */
  begin(operation) {
    this.#end = 4;
    this.u8(operation);
  }

  u8(value) {
    const at = this.#take(1);
    this.#bytes[at] = value;
  }

  u32(value) {
    const at = this.#take(4);
    this.#bytes.writeUInt32LE(value, at);
  }

  u64(value) {
    const at = this.#take(8);
    this.#bytes.writeBigUInt64LE(BigInt(value), at);
  }

  f64(value) {
    const at = this.#take(8);
    this.#bytes.writeDoubleLE(value, at);
  }

  bytes(bytes) {
    const at = this.#take(bytes.length);
    this.#bytes.set(bytes, at);
  }

  blob(bytes) {
    this.u32(bytes.length);
    this.bytes(bytes);
  }

  list(items, write) {
    this.u32(items.length);
    for (const item of items) write(item);
  }

  finish() {
    this.#bytes.writeUInt32LE(this.#end - 4, 0);
    return this.#bytes.subarray(0, this.#end);
  }
}

/** The bytes of `input` from `start` to `end` are read from the pipe, and belong to later requests. */
let input = Buffer.alloc(1 << 16);
let [start, end] = [0, 0];

/** Returns the next bytes, which are valid until the next call. */
function readFully(length) {
  if (start + length > input.length) {
    const rest = input.subarray(start, end);
    input = Buffer.concat([rest], Math.max(input.length, 2 * length));
    [start, end] = [0, rest.length];
  }
  while (end - start < length) {
    const read = readSync(0, input, end, input.length - end, null);
    if (read === 0) process.exit(0);
    end += read;
  }
  start += length;
  return input.subarray(start - length, start);
}

function writeFully(bytes) {
  for (let offset = 0; offset < bytes.length; ) offset += writeSync(1, bytes, offset);
}

const answer = new Writer();

/** Returns the answer to a request, if it has one. */
function serve(request) {
  const operation = request[0];
  const isAnswered = operation !== 2;
  answer.begin(operation);
  try {
    const body = new Uint8Array(request.buffer, request.byteOffset + 1, request.length - 1);
    operations[operation](new Reader(body), answer);
    if (failure !== undefined) throw failure;
  } catch (error) {
    failure = error;
    answer.begin(FAILED);
    answer.bytes(utf8.encode(error.stack));
  }
  return isAnswered ? answer.finish() : undefined;
}

for (;;) {
  const answered = serve(readFully(readFully(4).readUInt32LE()));
  if (answered !== undefined) writeFully(answered);
}
