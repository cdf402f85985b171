/** The updatable queue: two sessions of the SDK, as they run in a browser, over datagrams. */

import { createRandom } from "nowcast/internal";
import { CARRIER_TRAITS, Session } from "nowcast-session";
import { DATAGRAM_HEADER_BYTES } from "./datagrams.js";
import type { Link } from "./link.js";
import { type Deliver, EVENT_BYTES, type LoadMessage, STATE_BYTES, type Transport } from "./load.js";
import type { Timeline } from "./timeline.js";

/** Events have priority over states. */
const EVENT_LANE = 0;
const STATE_LANE = 1;
const CONFIG = { laneClasses: [0, 1] };
/** A session that asks to be called now, but has nothing to send, is called a little later. */
const AGAIN_US = 20;

export class SessionTransport implements Transport {
  readonly #timeline: Timeline;
  readonly #links: readonly [Link, Link];
  readonly #sessions: readonly [Session, Session];
  readonly #wakesAtUs: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  readonly #deliver: Deliver;
  /** Whether states and events share a lane, so that an event is a barrier between states. */
  eventsWait = false;

  /** `forth` leads to the receiver, `back` to the sender. */
  constructor(timeline: Timeline, forth: Link, back: Link, deliver: Deliver, seed: number) {
    this.#timeline = timeline;
    this.#links = [forth, back];
    this.#deliver = deliver;
    const random = createRandom(seed);
    const entropy = () => Uint8Array.from({ length: 48 }, () => Math.floor(random() * 256));
    this.#sessions = [
      Session.connect(timeline.nowUs, CARRIER_TRAITS.datagrams, entropy(), CONFIG),
      Session.accept(timeline.nowUs, CARRIER_TRAITS.datagrams, entropy(), CONFIG),
    ];
    this.#run(0);
    this.#run(1);
  }

  get bytes(): number {
    return this.#links[0].bytes;
  }

  /** States that were replaced before they left. */
  get superseded(): number {
    return this.#sessions[0].gauges.superseded;
  }

  put(messages: readonly LoadMessage[]): void {
    const { nowUs } = this.#timeline;
    const [sender] = this.#sessions;
    for (const { type, putAtUs, ...message } of messages) {
      const value = new Uint8Array(type === "state" ? STATE_BYTES : EVENT_BYTES);
      new DataView(value.buffer).setFloat64(0, putAtUs);
      if ("key" in message) sender.putState(nowUs, STATE_LANE, message.key, value);
      else sender.putEvent(nowUs, this.eventsWait ? STATE_LANE : EVENT_LANE, value);
    }
    this.#run(0);
  }

  /** Handles timers, sends packets, and shows received messages, in the order of calls that a session requires. */
  #run(end: 0 | 1): void {
    const session = this.#sessions[end];
    const { nowUs } = this.#timeline;
    session.handleTimeout(nowUs);
    for (let packet = session.pollPacket(nowUs); packet; packet = session.pollPacket(nowUs)) {
      this.#send(end, packet);
    }
    for (let message = session.receive(nowUs); message; message = session.receive(nowUs)) {
      const { value } = message;
      const putAtUs = new DataView(value.buffer, value.byteOffset).getFloat64(0);
      if (message.type === "state") this.#deliver({ type: "state", key: Number(message.key), putAtUs });
      else this.#deliver({ type: "event", putAtUs });
    }
    while (session.pollNotice()) {}
    this.#wakeAt(end, Math.max(session.pollTimeout(nowUs) ?? Number.POSITIVE_INFINITY, nowUs + AGAIN_US));
  }

  #send(end: 0 | 1, packet: Uint8Array): void {
    const other = end === 0 ? 1 : 0;
    this.#links[end].send(packet.length + DATAGRAM_HEADER_BYTES, () => {
      this.#sessions[other].handlePacket(this.#timeline.nowUs, packet);
      this.#run(other);
    });
  }

  #wakeAt(end: 0 | 1, atUs: number): void {
    this.#wakesAtUs[end] = atUs;
    if (atUs === Number.POSITIVE_INFINITY) return;
    this.#timeline.at(atUs, () => {
      if (this.#wakesAtUs[end] === atUs) this.#run(end);
    });
  }
}
