/**
 * Runs a session on a carrier: packets in, packets out, timers. A packet is filled when the carrier takes it at once, and
 * puts of one task leave together at its end.
 */
import type { Session } from "../session/session.js";
import { type CarrierKind, type OpenCarrier, PROPERTIES } from "./carrier.js";

/** The least wait for a timer; a session that wants to be called now, but has nothing to send, is called so much later. */
const WAIT_MS_MIN = 1;
/** Without room nothing can leave, but time-outs pass all the same. */
const WAIT_MS_WITHOUT_ROOM = 50;
const WAIT_MS_MAX = 60_000;

/** Microseconds of a clock that never runs backwards. */
export function clockUs(): number {
  return performance.now() * 1_000;
}

/** The 48 random bytes that a session wants for every carrier. */
export function randomEntropy(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(48));
}

export interface DriverHandlers {
  /** Something happened: there may be messages, notices, or a changed status. */
  changed(): void;
  /** The carrier is gone; the session is detached. */
  carrierEnded(reason: string): void;
}

export class Driver {
  readonly session: Session;
  #handlers: DriverHandlers | undefined;
  #carrier: OpenCarrier | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isWoken = false;

  constructor(session: Session) {
    this.session = session;
  }

  get carrierKind(): CarrierKind | undefined {
    return this.#carrier?.kind;
  }

  handle(handlers: DriverHandlers): void {
    this.#handlers = handlers;
  }

  /** Runs the session on this carrier from now on; it was made for it, or {@link resume} attached it. */
  adopt(carrier: OpenCarrier): void {
    this.#drop(1000, "the session moved to another carrier");
    this.#carrier = carrier;
    carrier.begin({
      packet: (bytes, arrivedAtMs) => this.#received(carrier, bytes, arrivedAtMs),
      room: () => this.pump(),
      ended: (reason) => this.#ended(carrier, reason),
    });
    this.pump();
  }

  /** The session goes on over another carrier. */
  resume(carrier: OpenCarrier, role: "initiator" | "acceptor", first?: Uint8Array): void {
    this.session.attach(clockUs(), PROPERTIES[carrier.kind], randomEntropy(), role);
    if (first !== undefined) this.session.handlePacket(clockUs(), first);
    this.adopt(carrier);
  }

  /** Something was put: it leaves with what else this task puts. */
  wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    queueMicrotask(() => {
      this.#isWoken = false;
      this.pump();
    });
  }

  /** Lets time pass and packets leave. */
  pump(): void {
    const nowUs = clockUs();
    this.session.handleTimeout(nowUs);
    const carrier = this.#carrier;
    while (carrier?.hasRoom) {
      const packet = this.session.pollPacket(nowUs);
      if (packet === undefined) break;
      carrier.send(packet);
    }
    // A carrier that is only silent is kept until another takes its place: it may be heard again.
    if (!this.session.isAttached) this.#drop(1000, "the session left it");
    this.#schedule(nowUs);
    this.#handlers?.changed();
  }

  /** Ends the carrier and forgets it. */
  #drop(code: number, reason: string): void {
    const carrier = this.#carrier;
    this.#carrier = undefined;
    carrier?.close(code, reason);
  }

  /** Closes the session; the peer is told if it can be. */
  close(code: number, reason: string, carrierCode = 1000): void {
    this.session.close(clockUs(), code, reason);
    this.pump();
    if (carrierCode !== 1000) this.#drop(carrierCode, reason);
  }

  #received(carrier: OpenCarrier, bytes: Uint8Array, arrivedAtMs: number): void {
    if (carrier !== this.#carrier) return;
    this.session.handlePacket(clockUs(), bytes, arrivedAtMs * 1_000);
    this.pump();
  }

  #ended(carrier: OpenCarrier, reason: string): void {
    if (carrier !== this.#carrier) return;
    this.#carrier = undefined;
    this.session.detach(clockUs());
    this.pump();
    this.#handlers?.carrierEnded(reason);
  }

  #schedule(nowUs: number): void {
    clearTimeout(this.#timer);
    // A closed session without a carrier has nobody left to tell.
    const isOver = this.session.isOver || (this.session.isClosed && this.#carrier === undefined);
    const dueUs = isOver ? undefined : this.session.pollTimeout(nowUs);
    if (dueUs === undefined) return;
    const least = this.#carrier === undefined || this.#carrier.hasRoom ? WAIT_MS_MIN : WAIT_MS_WITHOUT_ROOM;
    const waitMs = Math.min(Math.max((dueUs - nowUs) / 1_000, least), WAIT_MS_MAX);
    this.#timer = setTimeout(() => this.pump(), Math.ceil(waitMs));
  }
}
