/** Two sessions, two seeded links, one virtual clock. */
import { type CarrierTraits, Session, type SessionConfig } from "../../src/session/index.js";

/** SplitMix32. Its only state is the seed. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

export interface LinkSettings {
  delayUs: number;
  jitterUs: number;
  loss: number;
  duplicate: number;
  /** The share of packets that a hostile peer changed. */
  corrupt: number;
  isCut: boolean;
}

export const GOOD_LINK: LinkSettings = {
  delayUs: 25_000,
  jitterUs: 0,
  loss: 0,
  duplicate: 0,
  corrupt: 0,
  isCut: false,
};

interface UnderWay {
  readonly dueUs: number;
  readonly order: number;
  readonly to: number;
  readonly packet: Uint8Array;
}

export class Pair {
  nowUs = 1_000_000;
  link: LinkSettings;
  readonly ends: readonly [Session, Session];
  /** The difference between the clock of each end and the virtual clock. */
  readonly offsetsUs = [0, 5_000_000_000];
  packets = 0;
  #underWay: UnderWay[] = [];
  #wakesAtUs: [number, number] = [0, 0];
  #order = 0;
  #stopped: number | undefined;
  #unread: Uint8Array[] = [];
  #carrier: CarrierTraits;

  constructor(
    readonly random: () => number,
    carrier: CarrierTraits,
    link: Partial<LinkSettings> = {},
    config: Partial<SessionConfig> = {},
  ) {
    this.#carrier = carrier;
    this.link = { ...GOOD_LINK, ...link };
    this.ends = [
      Session.connect(this.clock(0), carrier, this.entropy(), config),
      Session.accept(this.clock(1), carrier, this.entropy(), config),
    ];
  }

  entropy(): Uint8Array {
    return Uint8Array.from({ length: 48 }, () => Math.floor(this.random() * 256));
  }

  clock(end: number): number {
    return this.nowUs + this.offsetsUs[end]!;
  }

  /** After any call an end is polled for packets at once. */
  touch(end: number): void {
    this.#wakesAtUs[end] = this.nowUs;
  }

  /** Ends the carrier with all packets on it, and gives both ends a new one. */
  changeCarrier(carrier = this.#carrier): void {
    this.#carrier = carrier;
    this.#underWay = [];
    this.ends[0].detach(this.clock(0));
    this.ends[1].detach(this.clock(1));
    this.ends[1].attach(this.clock(1), this.#carrier, this.entropy(), "acceptor");
    this.ends[0].attach(this.clock(0), this.#carrier, this.entropy(), "initiator");
    this.touch(0);
    this.touch(1);
  }

  /** Stops the end until {@link goOn}, like a stopped process: arriving packets wait. */
  stop(end: number): void {
    this.#stopped = end;
    this.#wakesAtUs[end] = Number.POSITIVE_INFINITY;
  }

  /** Continues a stopped end: it handles the new time first, and then the waiting packets. */
  goOn(): void {
    const end = this.#stopped!;
    this.#stopped = undefined;
    this.ends[end]!.handleTimeout(this.clock(end));
    for (const packet of this.#unread.splice(0)) this.ends[end]!.handlePacket(this.clock(end), packet);
    this.touch(end);
  }

  runUntil(untilUs: number): void {
    for (;;) {
      const due = this.#underWay[0]?.dueUs ?? Number.POSITIVE_INFINITY;
      const next = Math.min(due, ...this.#wakesAtUs);
      if (next > untilUs) break;
      this.nowUs = Math.max(this.nowUs, next);
      this.#deliver();
      for (const end of [0, 1]) if (this.#wakesAtUs[end]! <= this.nowUs) this.#wake(end);
    }
    this.nowUs = untilUs;
  }

  #deliver(): void {
    while (this.#underWay[0] && this.#underWay[0].dueUs <= this.nowUs) {
      const { to, packet } = this.#underWay.shift()!;
      if (to === this.#stopped) {
        this.#unread.push(packet);
        continue;
      }
      this.ends[to]!.handlePacket(this.clock(to), packet);
      this.touch(to);
    }
  }

  #wake(end: number): void {
    const session = this.ends[end]!;
    session.handleTimeout(this.clock(end));
    let packets = 0;
    for (
      let packet = session.pollPacket(this.clock(end));
      packet;
      packet = session.pollPacket(this.clock(end))
    ) {
      packets += 1;
      if (packets > 10_000) throw new Error(`end ${end} sends without end`);
      this.#send(1 - end, packet);
    }
    const wakesAt = session.pollTimeout(this.clock(end)) ?? Number.POSITIVE_INFINITY;
    // A session that asks to be called now, but has nothing to send, is called a little later.
    this.#wakesAtUs[end] = Math.max(wakesAt - this.offsetsUs[end]!, this.nowUs + 20);
  }

  #send(to: number, packet: Uint8Array): void {
    this.packets += 1;
    const [lost, jitter, twice, flipped, position] = Array.from({ length: 5 }, () => this.random());
    const { isReliable } = this.#carrier;
    if (!isReliable && (this.link.isCut || lost! < this.link.loss)) return;
    if (flipped! < this.link.corrupt) packet[Math.floor(position! * packet.length)]! ^= 0x10;
    const isTwice = !isReliable && twice! < this.link.duplicate;
    for (let copy = 0; copy < (isTwice ? 2 : 1); copy++) {
      const jitterUs = isReliable ? 0 : jitter! * this.link.jitterUs;
      const dueUs = this.nowUs + this.link.delayUs + jitterUs + copy * 3_000;
      this.#underWay.push({ dueUs, order: this.#order++, to, packet });
    }
    this.#underWay.sort((a, b) => a.dueUs - b.dueUs || a.order - b.order);
  }
}
