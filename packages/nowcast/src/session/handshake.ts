/** Beginning, resuming and ending of a session (`spec/SESSION.md`, sections 4 and 12). */
import { copyOf } from "../codec/copy-of.js";
import { NowcastError } from "../errors/nowcast-error.js";
import type { UInt64 } from "../queue/uint64.js";
import type { SessionConfig } from "./config.js";
import { CloseCode, type Closed, PeerFault } from "./fault.js";
import { HelloAttempt } from "./hello-attempt.js";
import type { Limits } from "./limits.js";
import type { Notice } from "./notice.js";
import type { Frame } from "./packet/frames.js";
import {
  type Hello,
  type Packet,
  type Refuse,
  readNonce,
  readPacket,
  type Ticket,
  VERSION,
  type Welcome,
  writePacket,
} from "./packet/packets.js";
import { MalformedPacket } from "./packet/reader.js";
import { PacketWriter } from "./packet/writer.js";

const CLOSES_MAX = 3;
const CLOSING_US = 3_000_000;
const ENTROPY_BYTES = 48;

/** The phase of a session. */
export type Phase =
  | { readonly name: "connecting"; readonly attempt: HelloAttempt }
  | { readonly name: "listening" }
  | { readonly name: "answered"; hello: Hello; readonly proof: Uint8Array; isAnswerDue: boolean }
  /** A REFUSE must be sent. After that the session ends, or waits for another carrier. */
  | { readonly name: "refusing"; readonly refuse: Refuse; readonly ends: boolean }
  | { readonly name: "open" }
  /**
   * Whether a carrier is still attached that was regarded as dead because of its silence. Packets
   * may arrive on it again.
   */
  | { readonly name: "detached"; readonly untilUs: number; readonly isAttached: boolean }
  | {
      readonly name: "closing";
      readonly closed: Closed;
      isDue: boolean;
      left: number;
      readonly untilUs: number;
    }
  | { readonly name: "closed" };

export type Role = "initiator" | "acceptor";

export class Handshake {
  /** The id and the token of the session, once they exist. */
  ticket: Ticket | undefined;
  /** The peer's limits; our own until they arrive. */
  peer: Limits;
  /** The initiator's proof, until a packet with it is acknowledged. */
  proof: { readonly proof: Uint8Array; wasSent: boolean } | undefined;
  readonly #config: SessionConfig;
  readonly #notify: (notice: Notice) => void;
  #phase: Phase;
  #entropy: Uint8Array;
  #epoch: UInt64 = 0;

  constructor(
    config: SessionConfig,
    entropy: Uint8Array,
    nowUs: number,
    role: Role,
    notify: (notice: Notice) => void,
  ) {
    this.#config = config;
    this.#entropy = checkEntropy(entropy);
    this.#notify = notify;
    this.peer = config.limits;
    this.#phase = role === "acceptor" ? { name: "listening" } : this.#ask(nowUs, undefined);
  }

  get phase(): Phase {
    return this.#phase;
  }

  get isOpen(): boolean {
    return this.#phase.name === "open";
  }

  /**
   * Whether packets of the carrier are accepted. This includes a carrier that was silent for too
   * long.
   */
  get isAttached(): boolean {
    return this.#phase.name === "detached" ? this.#phase.isAttached : this.#phase.name !== "closed";
  }

  get isClosed(): boolean {
    return this.#phase.name === "closing" || this.#phase.name === "closed";
  }

  get idleTimeoutUs(): number {
    return Math.min(this.#config.limits.idleTimeoutMs, this.peer.idleTimeoutMs) * 1_000;
  }

  get #resumeTimeoutUs(): number {
    return Math.min(this.#config.limits.resumeTimeoutMs, this.peer.resumeTimeoutMs) * 1_000;
  }

  /** Attaches a new carrier. An initiator asks to resume on it; an acceptor waits for HELLO. */
  attach(nowUs: number, entropy: Uint8Array, role: Role): void {
    if (this.isClosed || this.ticket === undefined)
      throw new NowcastError("misuse", "only a session that was open can be resumed");
    this.#entropy = checkEntropy(entropy);
    this.proof = undefined;
    if (role === "acceptor") {
      this.#phase = { name: "listening" };
      return;
    }
    this.#epoch = Number(this.#epoch) + 1;
    this.#phase = this.#ask(nowUs, { ...this.ticket, epoch: this.#epoch });
  }

  #ask(nowUs: number, resume: Ticket | undefined): Phase {
    return { name: "connecting", attempt: new HelloAttempt(nowUs, this.#entropy.slice(0, 8), resume) };
  }

  /** Handles the end of the carrier. */
  detach(nowUs: number): void {
    if (this.isClosed) return;
    if (this.#phase.name === "detached") {
      this.#phase = { ...this.#phase, isAttached: false };
      return;
    }
    if (this.ticket === undefined) {
      const reason = "the carrier ended before the handshake";
      this.end(nowUs, { code: CloseCode.gaveUp, reason, by: "silence" });
      return;
    }
    // Only a peer that has received our WELCOME can return, and most such peers have proven it.
    const isUnproven = this.#phase.name === "answered" && this.#epoch === 0;
    this.#beginDetached(
      nowUs,
      false,
      isUnproven ? this.#config.handshakeTimeoutMs * 1_000 : this.#resumeTimeoutUs,
    );
  }

  /** Regards the carrier of an open session as dead because of its silence. */
  fellSilent(nowUs: number): void {
    this.#beginDetached(nowUs, true, this.#resumeTimeoutUs);
  }

  #beginDetached(nowUs: number, isAttached: boolean, timeoutUs: number): void {
    this.#phase = { name: "detached", untilUs: nowUs + timeoutUs, isAttached };
    this.#notify({ type: "detached" });
  }

  end(nowUs: number, closed: Closed): void {
    if (this.isClosed) return;
    const tells = this.isOpen && closed.by === "us";
    this.#notify({ type: "closed", closed });
    this.#phase = tells
      ? { name: "closing", closed, isDue: true, left: CLOSES_MAX, untilUs: nowUs + CLOSING_US }
      : { name: "closed" };
  }

  /** Returns why a HELLO may not resume this session. */
  checkResume(resume: Ticket): { readonly code: number; readonly text: string } | undefined {
    const ticket = this.isClosed ? undefined : this.ticket;
    if (ticket === undefined || !equalBytes(ticket.session, resume.session)) {
      return { code: CloseCode.unknownSession, text: "there is no such session here" };
    }
    if (!equalBytes(ticket.token, resume.token) || resume.epoch <= ticket.epoch) {
      return { code: CloseCode.wrongToken, text: "the resume token or epoch is wrong" };
    }
    return undefined;
  }

  /**
   * Handles a HELLO. Returns false if a HELLO is not allowed in this phase, `"accepted"` if it is acceptable and the first
   * on this carrier.
   */
  onHello(hello: Hello): "accepted" | "again" | "refused" | "misplaced" {
    const phase = this.#phase;
    if (phase.name === "answered" && equalBytes(phase.hello.nonce, hello.nonce)) {
      phase.hello = { ...phase.hello, clock: hello.clock };
      phase.isAnswerDue = true;
      return "again";
    }
    if (phase.name !== "listening") return "misplaced";
    const refused = this.#judge(hello);
    if (refused) {
      // A HELLO with a wrong token must not end the session that it names.
      const ends = this.ticket === undefined;
      this.#phase = { name: "refusing", refuse: refusal(hello.nonce, refused.code, refused.text), ends };
      return "refused";
    }
    this.ticket ??= { session: this.#entropy.slice(8, 16), token: this.#entropy.slice(16, 32), epoch: 0 };
    if (hello.resume) {
      this.ticket = { ...this.ticket, epoch: hello.resume.epoch };
      this.#epoch = hello.resume.epoch;
    }
    this.peer = hello.limits;
    const kept = { ...hello, nonce: copyOf(hello.nonce) };
    this.#phase = { name: "answered", hello: kept, proof: this.#entropy.slice(32, 40), isAnswerDue: true };
    return "accepted";
  }

  #judge(hello: Hello): { readonly code: number; readonly text: string } | undefined {
    if (hello.versionMin > VERSION || hello.versionMax < VERSION) {
      return { code: CloseCode.version, text: `this peer speaks version ${VERSION} only` };
    }
    const { resume } = hello;
    if (!this.ticket) {
      return resume && { code: CloseCode.unknownSession, text: "there is no such session here" };
    }
    if (!resume) return { code: CloseCode.wrongToken, text: "the carrier is for a session to resume" };
    const refused = this.checkResume(resume);
    if (refused) return refused;
    return shrinks(this.peer, hello.limits)
      ? { code: CloseCode.violation, text: "limits shrank" }
      : undefined;
  }

  /** Handles a WELCOME. Returns false if no answer to a HELLO is awaited. */
  onWelcome(welcome: Welcome): boolean {
    const phase = this.#phase;
    if (phase.name !== "connecting" || !equalBytes(phase.attempt.nonce, welcome.nonce)) return false;
    const { session, token, epoch, limits } = welcome;
    if (welcome.version !== VERSION) throw PeerFault.violation("a version that was not offered");
    const resumed = this.ticket !== undefined;
    if (this.ticket) {
      const isSame = equalBytes(this.ticket.session, session) && epoch === this.#epoch;
      if (!isSame || shrinks(this.peer, limits))
        throw PeerFault.violation("another session than the one to resume");
    }
    this.ticket = { session: copyOf(session), token: copyOf(token), epoch };
    this.peer = limits;
    this.proof = { proof: copyOf(welcome.proof), wasSent: false };
    this.#phase = { name: "open" };
    this.#notify({ type: "opened", resumed });
    return true;
  }

  /**
   * Refuses a peer that is not proven and sent a malformed packet. This is for carriers on which
   * only the peer can be at fault.
   */
  refuseMalformed(packet: Uint8Array, field: string): void {
    const phase = this.#phase;
    if (phase.name !== "listening" && phase.name !== "answered") return;
    const isListening = phase.name === "listening";
    const ends = isListening ? this.ticket === undefined : this.#epoch === 0;
    const refuse = unreadable(isListening ? readNonce(packet) : phase.hello.nonce, field);
    this.#phase = { name: "refusing", refuse, ends };
  }

  /**
   * Whether a REFUSE is for our HELLO and not too late. `isTrusted` means that only the peer can
   * have sent it.
   */
  #awaits({ nonce }: Refuse, isTrusted: boolean): boolean {
    const isOurs = equalBytes(this.#entropy.subarray(0, 8), nonce);
    // The peer may not have been able to read our nonce.
    if (this.#phase.name === "connecting") return isOurs || (isTrusted && nonce.every((byte) => byte === 0));
    return this.isOpen && isTrusted && isOurs && this.proof !== undefined;
  }

  /** Handles a REFUSE. Returns false if no answer is awaited. */
  onRefuse(nowUs: number, refuse: Refuse, isTrusted: boolean): boolean {
    if (!this.#awaits(refuse, isTrusted)) return false;
    const { code, versionMin, versionMax, text } = refuse;
    const isVersion = code === CloseCode.version;
    const reason = isVersion
      ? `the peer speaks versions ${versionMin} to ${versionMax}, we speak ${VERSION}`
      : text;
    this.end(nowUs, { code, reason, by: "peer" });
    return true;
  }

  /**
   * Checks whether a data packet of a peer that was answered has the proof that the peer receives our packets. Returns
   * whether its data may be accepted.
   */
  onData(frames: readonly Frame[]): boolean {
    const phase = this.#phase;
    if (phase.name === "answered") {
      const proves = (frame: Frame) => frame.type === "proof" && equalBytes(phase.proof, frame.proof);
      if (frames.some(proves)) {
        this.#phase = { name: "open" };
        this.#notify({ type: "opened", resumed: this.#epoch !== 0 });
      }
    }
    if (phase.name === "detached" && phase.isAttached) {
      // A packet arrived on the silent carrier before another carrier replaced it.
      this.#phase = { name: "open" };
      this.#notify({ type: "opened", resumed: true });
    }
    return this.isOpen;
  }

  /** Handles a data packet during closing: sends CLOSE again, unless the peer has sent CLOSE, too. */
  onDataWhileClosing(frames: readonly Frame[]): void {
    if (this.#phase.name !== "closing") return;
    this.#phase.isDue = this.#phase.left > 0;
    if (frames.some(({ type }) => type === "close")) this.#phase = { name: "closed" };
  }

  /** Handles the timers of the phases in which the session is not open. */
  handleTimeout(nowUs: number, lastHeardUs: number): void {
    const phase = this.#phase;
    const handshakeUs = this.#config.handshakeTimeoutMs * 1_000;
    if (phase.name === "connecting" && nowUs - phase.attempt.beganUs >= handshakeUs) this.#gaveUp(nowUs);
    else if (phase.name === "answered" && nowUs - lastHeardUs >= handshakeUs) this.#gaveUp(nowUs);
    else if (phase.name === "detached" && nowUs >= phase.untilUs) {
      const reason = "no new carrier within the resume time-out";
      this.end(nowUs, { code: CloseCode.gaveUp, reason, by: "silence" });
    } else if (phase.name === "closing" && nowUs >= phase.untilUs) this.#phase = { name: "closed" };
  }

  #gaveUp(nowUs: number): void {
    if (this.ticket !== undefined && this.#epoch !== 0) {
      this.detach(nowUs);
      return;
    }
    const reason = "no answer within the handshake time-out";
    this.end(nowUs, { code: CloseCode.gaveUp, reason, by: "silence" });
  }

  /** The time at which {@link handleTimeout} or {@link write} is due; `undefined` while the session is open. */
  dueUs(nowUs: number, lastHeardUs: number): number | undefined {
    const phase = this.#phase;
    const handshakeUs = this.#config.handshakeTimeoutMs * 1_000;
    switch (phase.name) {
      case "connecting":
        return Math.min(phase.attempt.nextUs, phase.attempt.beganUs + handshakeUs);
      case "answered":
        return phase.isAnswerDue ? nowUs : lastHeardUs + handshakeUs;
      case "refusing":
        return nowUs;
      case "detached":
        return phase.untilUs;
      case "closing":
        return phase.isDue && phase.left > 0 ? nowUs : phase.untilUs;
      default:
        return undefined;
    }
  }

  /** Writes the packet of the handshake that is due, if any. */
  write(nowUs: number, writer: PacketWriter): boolean {
    const phase = this.#phase;
    const { limits } = this.#config;
    if (phase.name === "connecting" && nowUs >= phase.attempt.nextUs) {
      writePacket(writer, phase.attempt.hello(Math.floor(nowUs), limits));
      return true;
    }
    if (phase.name === "answered" && phase.isAnswerDue) {
      phase.isAnswerDue = false;
      const { nonce, clock } = phase.hello;
      const shared = { nonce, proof: phase.proof, helloClock: clock, clock: Math.floor(nowUs) };
      writePacket(writer, { type: "welcome", version: VERSION, ...this.ticket!, ...shared, limits });
      return true;
    }
    if (phase.name !== "refusing") return false;
    writePacket(writer, phase.refuse);
    if (!phase.ends) this.#beginDetached(nowUs, false, this.#resumeTimeoutUs);
    else this.end(nowUs, { code: phase.refuse.code, reason: phase.refuse.text, by: "us" });
    return true;
  }

  /** Returns the content of a CLOSE that is due. After the call the CLOSE is no longer due. */
  takeClose(): Closed | undefined {
    const phase = this.#phase;
    if (phase.name !== "closing" || !phase.isDue || phase.left === 0) return undefined;
    phase.isDue = false;
    phase.left -= 1;
    return phase.closed;
  }
}

function refusal(nonce: Uint8Array, code: number, text: string): Refuse {
  return { type: "refuse", nonce: copyOf(nonce), code, versionMin: VERSION, versionMax: VERSION, text };
}

/** Returns the packet that refuses a HELLO for which there is no session, on a checked carrier. */
export function refusalPacket(hello: Hello, code: number, text: string): Uint8Array {
  return packetOf(refusal(hello.nonce, code, text));
}

/**
 * Returns the packet that refuses a first packet that is not a valid HELLO; `undefined` if it is a
 * valid HELLO. This is for reliable and checked carriers, on which only the sender can be at fault.
 */
export function malformedRefusalPacket(bytes: Uint8Array): Uint8Array | undefined {
  try {
    if (readPacket(bytes).type === "hello") return undefined;
    return packetOf(unreadable(readNonce(bytes), "type"));
  } catch (error) {
    if (!(error instanceof MalformedPacket)) throw error;
    return packetOf(unreadable(readNonce(bytes), error.field));
  }
}

function packetOf(packet: Packet): Uint8Array {
  const writer = new PacketWriter(256);
  writePacket(writer, packet);
  return writer.finish();
}

function unreadable(nonce: Uint8Array, field: string): Refuse {
  return refusal(nonce, CloseCode.malformed, `malformed ${field}`);
}

function checkEntropy(entropy: Uint8Array): Uint8Array {
  if (entropy.length !== ENTROPY_BYTES)
    throw new NowcastError("misuse", `a session needs ${ENTROPY_BYTES} random bytes`);
  return entropy;
}

/** Compares in constant time. */
function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let index = 0; index < a.length; index++) difference |= a[index]! ^ (b[index] ?? 0);
  return difference === 0;
}

function shrinks(before: Limits, after: Limits): boolean {
  return (
    after.lanesMax < before.lanesMax ||
    after.windowBytes < before.windowBytes ||
    after.messageBytesMax < before.messageBytesMax
  );
}
