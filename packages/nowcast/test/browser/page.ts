/** The part of the test that runs in a page, and in a worker of that page; both load this module. */
import { type Channel, type ChannelStatus, connect } from "../../src/index.js";
import { joinWorld, type World } from "../../src/world/index.js";
import { connectPatiently, End, live } from "../channel/life.js";

declare const WorkerGlobalScope: (new () => object) | undefined;

/** A channel to a peer that echoes every line. */
interface Chat {
  readonly channel: Channel;
  readonly timer: ReturnType<typeof setInterval>;
  put: number;
  readonly got: number[];
  readonly newest: number[];
  /** The time at which the last line arrived; then the longest interval between two lines since the last query. */
  lastMs: number;
  pauseMs: number;
  readonly changes: { readonly phase: string; readonly carrier: string | undefined }[];
}

/** Number of random lives, and of their steps. */
export interface Lives {
  readonly count: number;
  readonly atOnce: number;
  readonly steps: number;
}

/** The maximum size of messages. Larger ones take a long time at the low rate of a busy machine. */
const BYTES_MAX = 1_500;

/** A world whose movement is drawn. */
interface Watched {
  readonly world: World;
  snapshots: number;
}

let chat: Chat | undefined;
let watched: Watched | undefined;
let kills = 0;

const lab = {
  /** Changes this browser's WebTransport to that of browsers that have only `datagrams.createWritable`. */
  hideWritable(): void {
    const prototype = (globalThis as unknown as { WebTransportDatagramDuplexStream: { prototype: object } })
      .WebTransportDatagramDuplexStream.prototype;
    const writable = Object.getOwnPropertyDescriptor(prototype, "writable")!.get!;
    Object.defineProperty(prototype, "writable", { value: undefined });
    Object.defineProperty(prototype, "createWritable", {
      value(this: object): unknown {
        return writable.call(this);
      },
    });
  },

  /** Sends a line every 16 ms. */
  async start(url: string): Promise<ChannelStatus> {
    const channel = await connect(url);
    const started: Chat = {
      channel,
      timer: setInterval(() => say(started), 16),
      put: 0,
      got: [],
      newest: [],
      lastMs: performance.now(),
      pauseMs: 0,
      changes: [],
    };
    chat = started;
    channel.on("status", ({ phase, carrier }) => started.changes.push({ phase, carrier }));
    channel.on("message", ({ type, value }) => {
      const line = new DataView(value.buffer, value.byteOffset).getUint32(0);
      if (type === "state") started.newest.push(line);
      else started.got.push(line);
      const nowMs = performance.now();
      started.pauseMs = Math.max(started.pauseMs, nowMs - started.lastMs);
      started.lastMs = nowMs;
    });
    return channel.status;
  },

  report() {
    const { channel, put, got, newest, changes, pauseMs } = chat!;
    return { status: channel.status, put, got: got.length, last: newest.at(-1), changes, pauseMs };
  },

  /** Restarts the measurement of the longest pause. */
  forgetPauses(): void {
    Object.assign(chat!, { pauseMs: 0, lastMs: performance.now() });
  },

  /** Stops sending, waits until all lines have returned, and returns them. */
  async stop(): Promise<{ readonly put: number; readonly got: number[]; readonly newest: number[] }> {
    const { channel, timer, got, newest } = chat!;
    clearInterval(timer);
    const { put } = chat!;
    while (got.length < put || newest.at(-1) !== put - 1) {
      if (channel.status.closed) throw new Error(JSON.stringify(channel.status.closed));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    channel.close();
    return { put, got, newest };
  },

  /**
   * Runs random lives against the laws, some of them concurrently. A run increments `kills` to ask the test to cut the carriers.
   * Returns how often channels continued over another carrier.
   */
  async laws(url: string, lives: Lives): Promise<{ readonly resumed: number }> {
    let [next, resumed] = [0, 0];
    const kill = (): void => {
      kills += 1;
    };
    const turn = () => new Promise((resolve) => setTimeout(resolve, 1));
    const liveSome = async (): Promise<void> => {
      for (let seed = next++; seed < lives.count; seed = next++) {
        const channel = await connectPatiently(url);
        await live(seed, [new End(channel, BYTES_MAX)], { kill }, lives.steps, turn);
        resumed += channel.status.resumed;
        channel.close();
      }
    };
    await Promise.all(Array.from({ length: lives.atOnce }, liveSome));
    return { resumed };
  },

  kills: () => kills,

  /** Joins a world and draws it sixty times a second. */
  async watch(url: string, carrier: "webtransport" | "websocket"): Promise<void> {
    const world = joinWorld(url, { carriers: [carrier] });
    await world.ready;
    const started: Watched = { world, snapshots: 0 };
    world.on("snapshot", () => {
      started.snapshots += 1;
    });
    setInterval(() => world.frame(performance.now()), 1_000 / 60);
    watched = started;
  },

  /** Keeps this thread busy for `ms`, outside of frames. */
  stall(ms: number): void {
    for (const endMs = performance.now() + ms; performance.now() < endMs; );
  },

  viewDelay(): { readonly delayMs: number; readonly snapshots: number } {
    const { world, snapshots } = watched!;
    return { delayMs: world.display.delayMs, snapshots };
  },
};

function say(started: Chat): void {
  const line = new Uint8Array(4);
  new DataView(line.buffer).setUint32(0, started.put);
  if (started.channel.event(line) === false) return;
  started.channel.lane(1).state(1, line);
  started.put += 1;
}

type Lab = typeof lab;
type Call = { readonly id: number; readonly method: keyof Lab; readonly args: unknown[] };

/** Does the same in a separate worker. */
function workerLab(): (method: keyof Lab, ...args: unknown[]) => Promise<unknown> {
  const worker = new Worker("/page.js", { type: "module" });
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  worker.onmessage = ({ data: { id, value, error } }) => {
    if (error === undefined) waiting.get(id)?.resolve(value);
    else waiting.get(id)?.reject(new Error(error));
    waiting.delete(id);
  };
  let calls = 0;
  return (method, ...args) =>
    new Promise((resolve, reject) => {
      const id = calls++;
      waiting.set(id, { resolve, reject });
      worker.postMessage({ id, method, args } satisfies Call);
    });
}

if (typeof WorkerGlobalScope === "function") {
  self.onmessage = async ({ data }: MessageEvent<Call>) => {
    const { id, method, args } = data;
    try {
      const value = await (lab[method] as (...args: unknown[]) => unknown)(...args);
      self.postMessage({ id, value });
    } catch (error) {
      self.postMessage({ id, error: String(error) });
    }
  };
} else {
  const inPage = (method: keyof Lab, ...args: unknown[]) =>
    Promise.resolve((lab[method] as (...args: unknown[]) => unknown)(...args));
  Object.assign(globalThis, { callLab: { page: inPage, worker: workerLab() } });
}

export type { Lab };
