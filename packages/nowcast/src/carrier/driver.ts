/**
 * Runs a session on a carrier: incoming packets, outgoing packets, timers. A packet is filled only when the carrier
 * accepts it at once. All puts of one task leave together at the end of the task.
 */
import type { Session } from "../session/session.js";
import { type CarrierKind, type OpenCarrier, PROPERTIES } from "./carrier.js";

/**
 * Minimum wait for a timer. A session that asks to be called now, but has nothing to send, is called after this time.
 */
const WAIT_MS_MIN = 1;
/**
 * Interval of calls while the carrier is full. While it is full, no packet can leave, but time-outs are still handled.
 */
const WAIT_MS_WITHOUT_ROOM = 50;
const WAIT_MS_MAX = 60_000;

/** The time in microseconds, on a clock that never runs backwards. */
export function clockUs(): number {
  return performance.now() * 1_000;
}

/** The 48 random bytes that a session needs for every carrier. */
export function randomEntropy(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(48));
}

export interface DriverHandlers {
  /** The session has changed: there may be messages, notices, or another status. */
  changed(): void;
  /** The carrier has ended; the session is detached. */
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

  /**
   * Runs the session on this carrier from now on. The session was created for the carrier, or {@link resume} attached
   * it.
   */
  adopt(carrier: OpenCarrier): void {
    this.#drop(1000, "the session moved to another carrier");
    this.#carrier = carrier;
    carrier.begin({
      packet: (bytes, arrivedAtMs) => {
        if (carrier !== this.#carrier) return;
        this.session.handlePacket(clockUs(), bytes, arrivedAtMs * 1_000);
        this.pump();
      },
      room: () => this.pump(),
      ended: (reason) => this.#ended(carrier, reason),
    });
    this.pump();
  }

  /** Continues the session over another carrier. */
  resume(carrier: OpenCarrier, role: "initiator" | "acceptor", first?: Uint8Array): void {
    this.session.attach(clockUs(), PROPERTIES[carrier.kind], randomEntropy(), role);
    if (first !== undefined) this.session.handlePacket(clockUs(), first);
    this.adopt(carrier);
  }

  /** Called after the application put a message. The message leaves together with the other puts of this task. */
  wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    queueMicrotask(() => {
      this.#isWoken = false;
      this.pump();
    });
  }

  /** Handles the current time, and sends the packets that are due. */
  pump(): void {
    const nowUs = clockUs();
    this.session.handleTimeout(nowUs);
    const carrier = this.#carrier;
    while (carrier?.hasRoom) {
      const packet = this.session.pollPacket(nowUs);
      if (packet === undefined) break;
      carrier.send(packet);
    }
    // A silent carrier is kept until another carrier replaces it, because packets may arrive on the silent one again.
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

  /** Closes the session. The peer is informed if a carrier is attached. */
  close(code: number, reason: string, carrierCode = 1000): void {
    this.session.close(clockUs(), code, reason);
    this.pump();
    if (carrierCode !== 1000) this.#drop(carrierCode, reason);
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
    // A closed session that has no carrier cannot inform its peer.
    const isOver = this.session.isOver || (this.session.isClosed && this.#carrier === undefined);
    const dueUs = isOver ? undefined : this.session.pollTimeout(nowUs);
    if (dueUs === undefined) return;
    const least = this.#carrier === undefined || this.#carrier.hasRoom ? WAIT_MS_MIN : WAIT_MS_WITHOUT_ROOM;
    const waitMs = Math.min(Math.max((dueUs - nowUs) / 1_000, least), WAIT_MS_MAX);
    this.#timer = setTimeout(() => this.pump(), Math.ceil(waitMs));
  }
}
