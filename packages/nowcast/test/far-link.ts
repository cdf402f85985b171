import { type AddressInfo, createServer, connect as dial, type Socket } from "node:net";
import { CLEAR_LINK, EmulatedLink } from "../src/impair/emulated-link.js";
import { createRandom } from "../src/impair/random.js";

/** The effect of a link on its packets. */
export interface LinkPlan {
  readonly oneWayMs: number;
  /**
   * The share of pieces, 0 to 1, that the stream sends again; then their additional delay. No later piece overtakes
   * them.
   */
  readonly loss?: number;
  readonly againMs?: number;
  readonly seed?: number;
}

/** A TCP link to a port of this machine with delay, and with stalls like a link that loses packets. */
export class FarLink {
  readonly port: number;
  readonly #close: () => void;

  private constructor(port: number, close: () => void) {
    this.port = port;
    this.#close = close;
  }

  static async open(to: number, { oneWayMs, loss = 0, againMs = 0, seed = 1 }: LinkPlan): Promise<FarLink> {
    const random = createRandom(seed);
    const conditions = { ...CLEAR_LINK, delayMs: oneWayMs, loss };
    const sockets = new Set<Socket>();
    const server = createServer((near) => {
      const far = dial(to, "127.0.0.1");
      for (const [from, onto] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(from);
        from.setNoDelay(true);
        carry(from, onto, new EmulatedLink(conditions, random, { type: "stream", resendMs: againMs }));
        from.on("error", () => onto.destroy());
        from.on("close", () => onto.destroy());
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new FarLink((server.address() as AddressInfo).port, () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
  }

  close(): void {
    this.#close();
  }
}

function carry(from: Socket, onto: Socket, link: EmulatedLink): void {
  const waiting: { dueMs: number; bytes: Buffer }[] = [];
  const deliver = (): void => {
    while (waiting.length > 0 && waiting[0]!.dueMs <= performance.now()) onto.write(waiting.shift()!.bytes);
    if (waiting.length > 0) setTimeout(deliver, Math.max(1, waiting[0]!.dueMs - performance.now()));
  };
  from.on("data", (bytes: Buffer) => {
    // A stream loses nothing.
    const dueMs = link.send(performance.now(), bytes.length)!;
    waiting.push({ dueMs, bytes });
    if (waiting.length === 1) setTimeout(deliver, Math.max(1, dueMs - performance.now()));
  });
}
