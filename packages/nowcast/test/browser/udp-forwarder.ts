import { createSocket, type Socket } from "node:dgram";
import type { AddressInfo } from "node:net";

/** Maximum clients at the same time; the one that was idle the longest is removed first. */
const CLIENTS_MAX = 256;

/** Forwards datagrams to a port of this machine and back, until it is set to drop them. */
export class UdpForwarder {
  isDropping = false;
  dropped = 0;
  readonly #near: Socket;
  readonly #host: string;
  /** The sockets by the client's port, the most recently used at the end. */
  readonly #far = new Map<number, Socket>();
  #target = 0;

  private constructor(near: Socket, host: string) {
    this.#near = near;
    this.#host = host;
    near.on("message", (datagram, { port }) => this.#forward(datagram, port));
  }

  /** Listens on 127.0.0.1, and forwards to `host`. */
  static async open(port = 0, host = "127.0.0.1"): Promise<UdpForwarder> {
    const near = createSocket({ type: "udp4", recvBufferSize: 1 << 20, sendBufferSize: 1 << 20 });
    await new Promise<void>((resolve) => near.bind(port, "127.0.0.1", resolve));
    return new UdpForwarder(near, host);
  }

  get port(): number {
    return (this.#near.address() as AddressInfo).port;
  }

  /** Sets the destination of datagrams. */
  to(port: number): void {
    this.#target = port;
  }

  close(): void {
    this.#near.close();
    for (const socket of this.#far.values()) socket.close();
  }

  #forward(datagram: Buffer, client: number): void {
    if (this.#drops()) return;
    let far = this.#far.get(client);
    this.#far.delete(client);
    if (far === undefined) {
      far = createSocket({ type: "udp4", recvBufferSize: 1 << 20, sendBufferSize: 1 << 20 });
      far.on("message", (answer) => {
        if (!this.#drops()) this.#near.send(answer, client, "127.0.0.1");
      });
      if (this.#far.size === CLIENTS_MAX) this.#forgetQuietest();
    }
    this.#far.set(client, far);
    far.send(datagram, this.#target, this.#host);
  }

  #forgetQuietest(): void {
    const [quietest] = this.#far;
    if (quietest === undefined) return;
    this.#far.delete(quietest[0]);
    quietest[1].close();
  }

  #drops(): boolean {
    if (this.isDropping) this.dropped += 1;
    return this.isDropping;
  }
}
