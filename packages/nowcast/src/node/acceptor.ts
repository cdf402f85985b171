/**
 * Assigns carriers to sessions. A HELLO that resumes is passed to the session that it names,
 * whatever its carrier. Every other HELLO begins a session. Any other first packet ends the
 * carrier.
 */
import { forAnyCarrier, type OpenCarrier, PROPERTIES } from "../carrier/carrier.js";
import { clockUs, Driver, randomEntropy } from "../carrier/driver.js";
import { Channel, type Entry } from "../channel/channel.js";
import { CloseCode } from "../session/fault.js";
import { malformedRefusalPacket, refusalPacket } from "../session/handshake.js";
import { type Hello, readPacket, Session, type SessionConfig } from "../session/index.js";
import { MalformedPacket } from "../session/packet/reader.js";
import type { Admission, AdmissionGrant } from "./admission.js";
import { Refusal } from "./refusal.js";
import type { Service } from "./service.js";

/** A carrier without a HELLO is closed after this time (`spec/CARRIERS.md`, section 6). */
const HELLO_MS_MAX = 5_000;

export interface AcceptorLimits {
  /** Maximum number of the endpoint's sessions, including sessions that wait to be resumed. */
  readonly sessionsMax: number;
  /** Maximum number of sessions from one address. */
  readonly sessionsPerAddressMax: number;
  readonly session: Partial<SessionConfig>;
}

/** Carrier counters. */
export interface AcceptorStats {
  begun: number;
  resumed: number;
  /** Carriers whose first packet was no HELLO. */
  withoutHello: number;
  /**
   * Carriers closed before their HELLO, because the endpoint was full when another carrier opened.
   */
  gaveWay: number;
  /** Refused HELLOs, by session code. */
  readonly refused: Record<number, number>;
}

export class Acceptor {
  readonly stats: AcceptorStats = { begun: 0, resumed: 0, withoutHello: 0, gaveWay: 0, refused: {} };
  readonly #admission: Admission;
  readonly #limits: AcceptorLimits;
  /** The sessions, by the hexadecimal text of their ids. */
  readonly #sessions = new Map<string, { readonly driver: Driver; readonly address: string }>();
  /** Carriers without a packet so far, with their admission; the oldest first. */
  readonly #waiting = new Map<OpenCarrier, AdmissionGrant>();

  constructor(admission: Admission, limits: AcceptorLimits) {
    this.#admission = admission;
    this.#limits = limits;
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  /**
   * Handles a carrier that was admitted to a service. `free` is called when the carrier has ended.
   */
  accept(carrier: OpenCarrier, service: Service, grant: AdmissionGrant, free: () => void): void {
    const watched = new Watched(carrier, free);
    this.#waiting.set(watched, grant);
    const timer = setTimeout(() => {
      if (this.#waiting.has(watched)) this.#dismiss(watched, "no HELLO came");
    }, HELLO_MS_MAX);
    const done = (): void => {
      clearTimeout(timer);
      this.#waiting.delete(watched);
    };
    watched.begin({
      packet: (bytes) => {
        if (bytes.length === 0) return;
        done();
        this.#first(watched, bytes, service, grant);
      },
      room: () => {},
      ended: () => {
        done();
        this.stats.withoutHello += 1;
      },
    });
  }

  /**
   * Closes the oldest carrier that has not sent a packet, from one address or from any, to free a slot. Carriers that
   * were admitted without a token, to resume, are closed first. A new carrier of this kind can only replace another one of this
   * kind, because the client's right to join is unknown until its HELLO.
   */
  giveWay(newcomer: AdmissionGrant, address: string | undefined): boolean {
    const isThere = ({ asked }: AdmissionGrant) => address === undefined || asked.address === address;
    const waiting = [...this.#waiting].filter(([, grant]) => isThere(grant));
    const unproven = waiting.find(([, grant]) => isUnproven(grant));
    const [carrier] = unproven ?? (isUnproven(newcomer) ? undefined : waiting[0]) ?? [];
    if (carrier === undefined) return false;
    this.#waiting.delete(carrier);
    this.stats.gaveWay += 1;
    carrier.close(1002, "no HELLO came, and others wait");
    return true;
  }

  #dismiss(carrier: OpenCarrier, reason: string): void {
    this.#waiting.delete(carrier);
    this.stats.withoutHello += 1;
    carrier.close(1002, reason);
  }

  #first(carrier: OpenCarrier, bytes: Uint8Array, service: Service, grant: AdmissionGrant): void {
    const hello = readHello(bytes);
    if (hello === undefined) {
      const refusal = malformedRefusalPacket(bytes);
      if (refusal !== undefined) carrier.send(refusal);
      this.#dismiss(carrier, "the first packet is no HELLO");
    } else if (hello.resume) this.#resume(carrier, bytes, hello);
    else this.#begin(carrier, bytes, hello, service, grant);
  }

  #resume(carrier: OpenCarrier, bytes: Uint8Array, hello: Hello): void {
    const driver = this.#sessions.get(hex(hello.resume!.session))?.driver;
    const refused = driver
      ? driver.session.checkResume(hello.resume!)
      : { code: CloseCode.unknownSession, text: "there is no such session here" };
    if (refused) return this.#refuse(carrier, hello, refused.code, refused.text);
    this.stats.resumed += 1;
    driver!.resume(carrier, "acceptor", bytes);
  }

  #begin(
    carrier: OpenCarrier,
    bytes: Uint8Array,
    hello: Hello,
    service: Service,
    grant: AdmissionGrant,
  ): void {
    const { address } = grant.asked;
    const refusal = this.#crowded(address, service);
    if (refusal !== undefined) {
      this.#admission.count(refusal);
      return this.#refuse(carrier, hello, CloseCode.busy, "no more sessions are taken");
    }
    try {
      this.#admission.begin(grant);
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      this.#admission.count(refusal);
      return this.#refuse(carrier, hello, CloseCode.unauthorised, refusal.cause);
    }
    const nowUs = clockUs();
    const session = Session.accept(
      nowUs,
      PROPERTIES[carrier.kind],
      randomEntropy(),
      forAnyCarrier(this.#limits.session),
    );
    const driver = new Driver(session);
    session.handlePacket(nowUs, bytes);
    const id = session.ticket && hex(session.ticket.session);
    if (id !== undefined) this.#sessions.set(id, { driver, address });
    this.stats.begun += 1;
    this.#run(driver, service, entryOf(grant), () => id !== undefined && this.#sessions.delete(id));
    driver.adopt(carrier);
  }

  #crowded(address: string, service: Service): Refusal | undefined {
    const { sessionsMax, sessionsPerAddressMax } = this.#limits;
    if (this.#sessions.size >= sessionsMax || !service.hasRoom) {
      return new Refusal("full", "the service accepts no more sessions", "try again later");
    }
    let here = 0;
    for (const session of this.#sessions.values()) if (session.address === address) here += 1;
    return here < sessionsPerAddressMax
      ? undefined
      : new Refusal("too_many", `${here} sessions are open from this address`, "close others of them");
  }

  /**
   * Offers the channel to the service once the peer is proven, and removes the session when it is
   * closed.
   */
  #run(driver: Driver, service: Service, entry: Entry, forget: () => void): void {
    const { session } = driver;
    let channel: Channel | undefined;
    const changed = (): void => {
      if (channel === undefined && session.isOpen) {
        channel = new Channel(driver, entry);
        service.offer(channel);
      }
      channel?.changed();
      if (session.isClosed) forget();
    };
    driver.handle({ changed, carrierEnded: changed });
  }

  #refuse(carrier: OpenCarrier, hello: Hello, code: number, text: string): void {
    this.stats.refused[code] = (this.stats.refused[code] ?? 0) + 1;
    carrier.send(refusalPacket(hello, code, text));
    carrier.close(1000, text);
  }

  /** Closes everything with `going_away`. */
  close(): void {
    for (const carrier of this.#waiting.keys()) carrier.close(1001, "the endpoint goes away");
    this.#waiting.clear();
    for (const { driver } of [...this.#sessions.values()]) {
      driver.close(CloseCode.goingAway, "the endpoint goes away", 1001);
    }
    this.#sessions.clear();
  }
}

/** A carrier that also calls another listener when it ends. */
class Watched implements OpenCarrier {
  readonly kind;
  readonly #carrier: OpenCarrier;
  readonly #free: () => void;

  constructor(carrier: OpenCarrier, free: () => void) {
    this.kind = carrier.kind;
    this.#carrier = carrier;
    this.#free = free;
  }

  get hasRoom(): boolean {
    return this.#carrier.hasRoom;
  }

  begin(handlers: Parameters<OpenCarrier["begin"]>[0]): void {
    this.#carrier.begin({
      packet: (bytes, arrivedAtMs) => handlers.packet(bytes, arrivedAtMs),
      room: () => handlers.room(),
      ended: (reason) => {
        this.#free();
        handlers.ended(reason);
      },
    });
  }

  send(packet: Uint8Array): void {
    this.#carrier.send(packet);
  }

  close(code: number, reason: string): void {
    this.#free();
    this.#carrier.close(code, reason);
  }
}

function isUnproven({ asked, claims }: AdmissionGrant): boolean {
  return asked.isResuming && claims === undefined;
}

function readHello(bytes: Uint8Array): Hello | undefined {
  try {
    const packet = readPacket(bytes);
    return packet.type === "hello" ? packet : undefined;
  } catch (error) {
    if (error instanceof MalformedPacket) return undefined;
    throw error;
  }
}

function entryOf({ asked, claims }: AdmissionGrant): Entry {
  return { room: asked.name, address: asked.address, name: claims?.sub, role: claims?.role };
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
