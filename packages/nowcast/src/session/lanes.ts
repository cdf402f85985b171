/**
 * All lanes of a session, in both directions. A lane is made when it is first used. Lanes fill packets by class, and in
 * turn within a class.
 */
import type { SessionConfig } from "./config.js";
import { PeerFault } from "./fault.js";
import { type ReceivedEvent, type ReceivedState, ReceiveLane } from "./lane/receive.js";
import { type SendContext, SendLane } from "./lane/send.js";
import { checkLane, type Limits } from "./limits.js";
import { REPEAT_BYTES_MAX, type Redundancy } from "./redundancy.js";
import type { SessionStats } from "./stats.js";
import { earliest } from "./time.js";

const PROBE_EVENTS = 16;

/** The contents of a packet. */
export interface Plan {
  /** The lanes with content for the packet. */
  readonly lanes: readonly number[];
  /**
   * Whether the first message in every non-empty lane of the first class is a small unsent event.
   */
  readonly leadsWithEvent: boolean;
}

export class Lanes {
  readonly #outgoing: (SendLane | undefined)[] = [];
  readonly #incoming: (ReceiveLane | undefined)[] = [];
  #turn = 0;

  constructor(
    readonly config: SessionConfig,
    readonly stats: SessionStats,
  ) {}

  /** Whether everything that was put is known to have arrived. */
  get isSettled(): boolean {
    return this.#outgoing.every((lane) => lane === undefined || lane.isSettled);
  }

  /** The lane to put into, if the peer accepts this many lanes. */
  sending(lane: number, peer: Limits): SendLane {
    checkLane(lane, peer);
    let sendLane = this.#outgoing[lane];
    if (sendLane === undefined) {
      const { entriesMax, bytesMax } = this.config;
      sendLane = new SendLane(lane, { entriesMax, bytesMax });
      this.#outgoing[lane] = sendLane;
    }
    return sendLane;
  }

  /** The lane to which a frame belongs. */
  receiving(lane: number): ReceiveLane {
    if (lane >= this.config.limits.lanesMax) throw PeerFault.limit("a lane beyond lanes_max");
    let receiveLane = this.#incoming[lane];
    if (receiveLane === undefined) {
      receiveLane = new ReceiveLane(this.config.limits, this.stats.dropped);
      this.#incoming[lane] = receiveLane;
    }
    return receiveLane;
  }

  /** The next message for the application, and its lane. `isWanted` selects lanes. */
  take(
    nowUs: number,
    isWanted?: (lane: number) => boolean,
  ): { readonly lane: number; readonly message: ReceivedState | ReceivedEvent } | undefined {
    for (const [lane, receiveLane] of this.#incoming.entries()) {
      const message = isWanted?.(lane) === false ? undefined : receiveLane?.take(nowUs);
      if (message) return { lane, message };
    }
    return undefined;
  }

  /** The next message for the application, with its lane, if it is a reply. */
  takeReply(nowUs: number): { readonly lane: number; readonly reply: ReceivedEvent } | undefined {
    for (const [lane, receiveLane] of this.#incoming.entries()) {
      const reply = receiveLane?.takeReply(nowUs);
      if (reply) return { lane, reply };
    }
    return undefined;
  }

  /** Values that were replaced before they left, and waiting messages. */
  get waiting(): { readonly entries: number; readonly superseded: number } {
    let [entries, superseded] = [0, 0];
    for (const lane of this.#outgoing) {
      entries += lane?.queue.entries ?? 0;
      superseded += lane?.queue.superseded ?? 0;
    }
    return { entries, superseded };
  }

  /** Average age of the peer's newest states on arrival (µs). */
  get ageUs(): number | undefined {
    return earliest(this.#incoming.map((lane) => lane?.ageUs));
  }

  windowReceived(lane: number, consumed: number | bigint, peer: Limits): void {
    if (lane >= peer.lanesMax) throw PeerFault.limit("a lane beyond lanes_max");
    const sendLane = this.#outgoing[lane];
    if (sendLane) sendLane.windowReceived(consumed);
    else if (consumed !== 0) throw PeerFault.violation("a WINDOW beyond the events sent");
  }

  windowLost(lane: number, consumed: number): void {
    this.#incoming[lane]?.windowLost(consumed);
  }

  windowDueUs(nowUs: number): number | undefined {
    return earliest(this.#incoming.map((lane) => lane?.windowDueUs(nowUs)));
  }

  /** Decides on the content of a packet, in one pass over the lanes. */
  plan(peer: Limits): Plan {
    const lanes: number[] = [];
    let [first, leadsWithEvent] = [Number.POSITIVE_INFINITY, false];
    for (const [lane, sendLane] of this.#outgoing.entries()) {
      if (!sendLane?.hasMore(peer)) continue;
      lanes.push(lane);
      const laneClass = this.#classOf(lane);
      if (laneClass > first) continue;
      leadsWithEvent = (laneClass < first || leadsWithEvent) && sendLane.leadsWithEvent(REPEAT_BYTES_MAX);
      first = laneClass;
    }
    return { lanes, leadsWithEvent };
  }

  canRepeat(lane: number, number: number): boolean {
    return this.#outgoing[lane]?.canRepeat(number) ?? false;
  }

  probe(): void {
    for (const lane of this.#outgoing) lane?.probe(PROBE_EVENTS);
  }

  expire(lane: number, id: number): void {
    this.#outgoing[lane]?.expire(id);
  }

  writeWindows({ builder, items }: SendContext): void {
    for (const [lane, receiveLane] of this.#incoming.entries()) {
      const consumed = receiveLane?.windowToReport();
      if (receiveLane === undefined || consumed === undefined) continue;
      builder.frame({ type: "window", lane, consumed });
      items.push({ type: "window", lane, consumed });
      receiveLane.windowSent();
    }
  }

  /** Repeats events that were not acknowledged. */
  repeat(context: SendContext, redundancy: Redundancy): void {
    const hasRoom = () => context.builder.room >= REPEAT_BYTES_MAX + 64;
    const repeat = (lane: number, number: number) => this.#outgoing[lane]?.repeat(number, context) ?? 0;
    redundancy.repeat(context.nowUs, hasRoom, repeat);
  }

  /** The planned lanes, ordered by class for a packet. Within a class, the lanes take turns at being first. */
  inTurn({ lanes }: Plan): readonly SendLane[] {
    this.#turn += 1;
    const count = this.#outgoing.length;
    const turn = ({ lane }: SendLane) => (lane + this.#turn) % count;
    const planned = lanes.map((lane) => this.#outgoing[lane]!);
    return planned.sort((a, b) => this.#classOf(a.lane) - this.#classOf(b.lane) || turn(a) - turn(b));
  }

  #classOf(lane: number): number {
    return this.config.laneClasses[lane] ?? 0;
  }
}
