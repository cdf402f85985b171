import { type AddressInfo, createServer, connect as dial, type Socket } from "node:net";
import { mulberry32 } from "./world/random.js";

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

  static async open(to: number, plan: LinkPlan): Promise<FarLink> {
    const random = mulberry32(plan.seed ?? 1);
    const sockets = new Set<Socket>();
    const server = createServer((near) => {
      const far = dial(to, "127.0.0.1");
      for (const [from, onto] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(from);
        from.setNoDelay(true);
        carry(from, onto, plan, random);
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

function carry(from: Socket, onto: Socket, plan: LinkPlan, random: () => number): void {
  const { oneWayMs, loss = 0, againMs = 0 } = plan;
  const waiting: { dueMs: number; bytes: Buffer }[] = [];
  let lastMs = 0;
  const deliver = (): void => {
    while (waiting.length > 0 && waiting[0]!.dueMs <= performance.now()) onto.write(waiting.shift()!.bytes);
    if (waiting.length > 0) setTimeout(deliver, Math.max(1, waiting[0]!.dueMs - performance.now()));
  };
  from.on("data", (bytes: Buffer) => {
    const isLost = random() < loss;
    lastMs = Math.max(lastMs, performance.now() + oneWayMs + (isLost ? againMs : 0));
    waiting.push({ dueMs: lastMs, bytes });
    if (waiting.length === 1) setTimeout(deliver, Math.max(1, lastMs - performance.now()));
  });
}
