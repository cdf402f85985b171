/** Random lives of channels over real sockets, checked against the laws of the updatable queue. */
import { type Channel, type ConnectOptions, connect } from "../../src/index.js";
import { LawRecord } from "../session/laws.js";
import { createRandom } from "../session/pair.js";
import { waitFor } from "../wait-for.js";

const LANES = 2;
/** A deadline far longer than any life takes, even on a busy machine. */
const DEADLINE_MS = 600_000;

/** Connects, and tries again if the machine is too slow for the usual time limits. */
export function connectPatiently(url: string, options?: ConnectOptions): Promise<Channel> {
  const attempt = (): Promise<Channel | undefined> =>
    connect(url, options).catch((error: unknown) => {
      if ((error as { fault?: unknown }).fault === "network") return undefined;
      throw error;
    });
  return waitFor(`a channel to ${url}`, attempt, DEADLINE_MS);
}

/** Faults of a channel's carriers during its life. */
export interface Fates {
  /** Cuts the current connections. */
  kill(): unknown;
  stall?(isStalled: boolean): void;
}

/** One end of a channel: puts random messages, and checks received ones. */
export class End {
  readonly put = Array.from({ length: LANES }, () => new LawRecord());
  /** The puts of the other end, by lane. If the peer echoes, an end receives its own puts. */
  hears = this.put;

  /** One message in twenty has up to `bytesMax` bytes. The others have at most a hundred. */
  constructor(
    readonly channel: Channel,
    readonly bytesMax = 12_000,
  ) {}

  act(random: () => number): void {
    const below = (end: number): number => Math.floor(random() * end);
    for (let puts = below(12); puts > 0; puts--) {
      const [number, key] = [below(LANES), below(6)];
      const record = this.put[number]!;
      const payload = record.payload(below(20) === 0 ? below(this.bytesMax) : below(100));
      const lane = this.channel.lane(number);
      const isTaken = key === 0 ? lane.event(payload) !== false : lane.state(key, payload);
      if (isTaken) record.put(key);
    }
  }

  read(): void {
    for (let next = this.channel.tryReceive(); next; next = this.channel.tryReceive()) {
      const key = next.type === "state" ? Number(next.key) : 0;
      this.hears[next.lane]!.got(key, next.value);
    }
  }
}

/** Two ends of one channel. */
export function facing(ours: Channel, theirs: Channel): [End, End] {
  const ends: [End, End] = [new End(ours), new End(theirs)];
  ends[0].hears = ends[1].put;
  ends[1].hears = ends[0].put;
  return ends;
}

/**
 * Runs `steps` steps with kills and stalls, then lets all messages arrive. Throws if a law was broken. `turn` lets the
 * platform do its work.
 */
export async function live(
  seed: number,
  ends: readonly End[],
  fates: Fates,
  steps: number,
  turn: () => Promise<unknown>,
): Promise<{ readonly kills: number }> {
  const random = createRandom(seed);
  let kills = 0;
  const isReading = ends.map(() => true);
  for (let step = 0; step < steps; step++) {
    ends[step % ends.length]!.act(random);
    const dice = random();
    if (dice < 0.06) {
      await fates.kill();
      kills += 1;
    } else if (dice < 0.1) fates.stall?.(dice < 0.08);
    else if (dice < 0.16) isReading[step % ends.length] = dice < 0.13;
    for (let turns = Math.floor(random() * 6); turns >= 0; turns--) await turn();
    for (const [index, end] of ends.entries()) if (isReading[index]) end.read();
  }
  fates.stall?.(false);
  const isArrived = (): boolean => {
    for (const { channel } of ends) {
      const { closed } = channel.status;
      if (closed) throw new Error(`seed ${seed}: closed: ${JSON.stringify(closed)}`);
    }
    for (const end of ends) end.read();
    return ends.every(({ put }) => put.every(({ isWhole }) => isWhole));
  };
  await waitFor(`everything to arrive (seed ${seed})`, isArrived, DEADLINE_MS);
  for (const { put } of ends) for (const record of put) record.finish();
  return { kills };
}
