/** Plain datagrams: each message is sent once. A lost one stays lost, and nothing adapts to the link. */
import type { Link } from "./link.js";
import { bytesOf, type Deliver, type LoadMessage, type Transport } from "./load.js";

const PACKET_BYTES_MAX = 1_200;
/** Bytes of IP and UDP headers and of QUIC's encryption. */
export const DATAGRAM_HEADER_BYTES = 60;

export class DatagramTransport implements Transport {
  /** Events that will never arrive. */
  eventsLost = 0;
  readonly #link: Link;
  readonly #deliver: Deliver;

  constructor(link: Link, deliver: Deliver) {
    this.#link = link;
    this.#deliver = deliver;
  }

  get bytes(): number {
    return this.#link.bytes;
  }

  put(messages: readonly LoadMessage[]): void {
    let packet: LoadMessage[] = [];
    let bytes = 0;
    for (const message of messages) {
      if (bytes + bytesOf(message) > PACKET_BYTES_MAX) {
        this.#send(packet, bytes);
        [packet, bytes] = [[], 0];
      }
      packet.push(message);
      bytes += bytesOf(message);
    }
    if (packet.length > 0) this.#send(packet, bytes);
  }

  #send(packet: readonly LoadMessage[], bytes: number): void {
    const arrives = this.#link.send(bytes + DATAGRAM_HEADER_BYTES, () => {
      for (const message of packet) this.#deliver(message);
    });
    if (!arrives) this.eventsLost += packet.filter(({ type }) => type === "event").length;
  }
}
