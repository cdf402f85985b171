import type { CarrierHandlers, CarrierKind, CarrierWrapper, OpenCarrier } from "../carrier/carrier.js";
import { EmulatedLink, type LinkType } from "./emulated-link.js";
import type { PathConditions } from "./presets.js";
import { createRandom } from "./random.js";

/** Bytes of a narrow stream that may wait. Then its carrier is full. */
const STREAM_WAITING_BYTES_MAX = 16 * 1024;

/** An impairment's clock and timers. */
export interface ImpairTiming {
  nowMs(): number;
  /** Calls `run` at this time, by the same clock. */
  at(atMs: number, run: () => void): void;
}

const REAL_TIMING: ImpairTiming = {
  nowMs: () => performance.now(),
  at: (atMs, run) => void setTimeout(run, Math.max(0, atMs - performance.now())),
};

export interface ImpairOptions {
  readonly conditions: PathConditions;
  /** The seed for losses and jitter; 1 by default. */
  readonly seed?: number | undefined;
  /** By default `performance.now()` and `setTimeout`. */
  readonly timing?: ImpairTiming | undefined;
}

/** One direction's counters since the impairment was made. */
export interface DirectionFigures {
  readonly packets: number;
  readonly lost: number;
  readonly bytes: number;
}

/**
 * A bad link for this program's connections, in both directions: pass it as `impair` to `joinWorld` or `connect`.
 *
 * ```ts
 * const impair = new Impairment({ conditions: LINK_PRESETS.train });
 * const world = joinWorld("/r/playground", { impair });
 * ```
 */
export class Impairment implements CarrierWrapper {
  readonly #timing: ImpairTiming;
  readonly #random: () => number;
  readonly #links = new Set<readonly [EmulatedLink, EmulatedLink]>();
  #conditions: PathConditions;
  readonly #ended = [noFigures(), noFigures()] as const;

  constructor({ conditions, seed = 1, timing = REAL_TIMING }: ImpairOptions) {
    this.#conditions = conditions;
    this.#timing = timing;
    this.#random = createRandom(seed);
    // The check of the conditions.
    new EmulatedLink(conditions.up, this.#random);
    new EmulatedLink(conditions.down, this.#random);
  }

  get conditions(): PathConditions {
    return this.#conditions;
  }

  /** Changes open connections, too. */
  set conditions(conditions: PathConditions) {
    for (const [up, down] of this.#links) {
      up.conditions = conditions.up;
      down.conditions = conditions.down;
    }
    this.#conditions = conditions;
  }

  /** Loses all packets in both directions for a time. */
  interrupt(ms: number): void {
    const untilMs = this.#timing.nowMs() + ms;
    for (const pair of this.#links) for (const link of pair) link.interrupt(untilMs);
  }

  get figures(): { readonly up: DirectionFigures; readonly down: DirectionFigures } {
    const sum = (index: 0 | 1): DirectionFigures => {
      const total = { ...this.#ended[index] };
      for (const pair of this.#links) add(total, pair[index]);
      return total;
    };
    return { up: sum(0), down: sum(1) };
  }

  wrap(carrier: OpenCarrier): OpenCarrier {
    const type: LinkType = { type: carrier.kind === "websocket" ? "stream" : "datagrams" };
    const { up, down } = this.#conditions;
    const links = [
      new EmulatedLink(up, this.#random, type),
      new EmulatedLink(down, this.#random, type),
    ] as const;
    this.#links.add(links);
    const ended = (): void => {
      if (!this.#links.delete(links)) return;
      add(this.#ended[0], links[0]);
      add(this.#ended[1], links[1]);
    };
    return new ImpairedCarrier(carrier, links, this.#timing, ended);
  }
}

interface Figures {
  packets: number;
  lost: number;
  bytes: number;
}

function noFigures(): Figures {
  return { packets: 0, lost: 0, bytes: 0 };
}

function add(to: Figures, { packets, lost, bytes }: DirectionFigures): void {
  to.packets += packets;
  to.lost += lost;
  to.bytes += bytes;
}

/** A carrier whose packets pass two emulated links. */
class ImpairedCarrier implements OpenCarrier {
  readonly kind: CarrierKind;
  readonly #inner: OpenCarrier;
  readonly #up: EmulatedLink;
  readonly #down: EmulatedLink;
  readonly #timing: ImpairTiming;
  readonly #ended: () => void;
  #handlers: CarrierHandlers | undefined;
  #isOver = false;
  #isWaiting = false;
  /** Received packets that are still on the emulated link. */
  #underway = 0;
  /** The reason for which the inner carrier ended, while packets are underway. */
  #innerEnd: string | undefined;

  constructor(
    inner: OpenCarrier,
    [up, down]: readonly [EmulatedLink, EmulatedLink],
    timing: ImpairTiming,
    ended: () => void,
  ) {
    this.kind = inner.kind;
    this.#inner = inner;
    this.#up = up;
    this.#down = down;
    this.#timing = timing;
    this.#ended = ended;
  }

  get hasRoom(): boolean {
    if (this.kind !== "websocket") return this.#inner.hasRoom;
    const nowMs = this.#timing.nowMs();
    const beyond = this.#up.waitingBytes(nowMs) - STREAM_WAITING_BYTES_MAX;
    if (beyond <= 0) return this.#inner.hasRoom;
    if (!this.#isWaiting) {
      this.#isWaiting = true;
      this.#timing.at(nowMs + (beyond * 8) / this.#up.conditions.kilobitsPerSecond, () => {
        this.#isWaiting = false;
        if (!this.#isOver && this.hasRoom) this.#handlers?.room();
      });
    }
    return false;
  }

  begin(handlers: CarrierHandlers): void {
    this.#handlers = handlers;
    this.#inner.begin({
      packet: (bytes, arrivedAtMs) => {
        const atMs = this.#down.send(this.#timing.nowMs(), bytes.length);
        if (atMs === undefined) return;
        // Carriers may use the bytes again after this call.
        const copy = bytes.slice();
        const delayMs = atMs - this.#timing.nowMs();
        this.#underway++;
        this.#timing.at(atMs, () => {
          this.#underway--;
          if (this.#isOver) return;
          handlers.packet(copy, arrivedAtMs + delayMs);
          this.#endAfterPackets();
        });
      },
      room: () => {
        if (!this.#isOver && this.hasRoom) handlers.room();
      },
      ended: (reason) => {
        this.#innerEnd = reason;
        this.#endAfterPackets();
      },
    });
  }

  /** Ends this carrier if the inner carrier has ended, and the last packet has arrived. */
  #endAfterPackets(): void {
    if (this.#isOver || this.#innerEnd === undefined || this.#underway > 0) return;
    this.#end();
    this.#handlers?.ended(this.#innerEnd);
  }

  send(packet: Uint8Array): void {
    const atMs = this.#up.send(this.#timing.nowMs(), packet.length);
    if (atMs === undefined) return;
    const copy = packet.slice();
    this.#timing.at(atMs, () => {
      if (!this.#isOver && this.#innerEnd === undefined) this.#inner.send(copy);
    });
  }

  close(code: number, reason: string): void {
    this.#end();
    this.#inner.close(code, reason);
  }

  #end(): void {
    this.#isOver = true;
    this.#ended();
  }
}
