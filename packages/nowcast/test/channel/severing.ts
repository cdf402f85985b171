import { type AddressInfo, createConnection, createServer, type Server, type Socket } from "node:net";

/** A proxy between a client and a TCP port. It forwards all bytes, and cuts connections on request. */
export class SeveringProxy {
  readonly #server: Server;
  /** Connections since the last cut. */
  opened = 0;
  readonly #pairs = new Set<readonly [Socket, Socket]>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Listens on 127.0.0.1, on the given port or one that the system chooses. */
  static async before(port: number, host = "127.0.0.1", own = 0): Promise<SeveringProxy> {
    const server = createServer({ pauseOnConnect: true });
    const proxy = new SeveringProxy(server);
    server.on("connection", (near) => proxy.#forward(near, createConnection(port, host)));
    await new Promise<void>((resolve) => server.listen(own, "127.0.0.1", resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#pairs.size;
  }

  /** Resets all connections; bytes in flight are lost. */
  sever(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy();
    this.#pairs.clear();
    this.opened = 0;
  }

  /** Stops or resumes forwarding, without informing either side. */
  stall(isStalled: boolean): void {
    for (const pair of this.#pairs) for (const socket of pair) isStalled ? socket.pause() : socket.resume();
  }

  close(): void {
    this.sever();
    this.#server.close();
  }

  #forward(near: Socket, far: Socket): void {
    const pair = [near, far] as const;
    this.#pairs.add(pair);
    this.opened += 1;
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.setNoDelay(true);
      from.on("data", (chunk) => {
        if (!to.write(chunk)) from.pause();
      });
      to.on("drain", () => from.resume());
      from.on("error", () => {});
      from.on("close", () => {
        this.#pairs.delete(pair);
        to.destroy();
      });
    }
    near.resume();
  }
}
