/** Random lives of channels over real sockets, held against the laws of the updatable queue. */
import type { Channel } from "../../src/index.js";
import { LawRecord } from "../session/laws.js";
import { createRandom } from "../session/pair.js";
import { waitFor } from "../wait-for.js";

const LANES = 2;

/** What can be done to the carriers of a channel while it lives. */
export interface Fates {
  /** Cuts what there is. */
  kill(): void;
  stall?(isStalled: boolean): void;
}

/** One end of a channel: puts at random, and checks what it gets. */
class End {
  readonly #random: () => number;
  /** By lane: what the other end puts. */
  records: LawRecord[] = [];
  readonly put = Array.from({ length: LANES }, () => new LawRecord());

  constructor(
    readonly channel: Channel,
    random: () => number,
  ) {
    this.#random = random;
  }

  below(end: number): number {
    return Math.floor(this.#random() * end);
  }

  act(): void {
    for (let puts = this.below(12); puts > 0; puts--) {
      const [number, key] = [this.below(LANES), this.below(6)];
      const record = this.put[number]!;
      const payload = record.payload(this.below(20) === 0 ? this.below(12_000) : this.below(100));
      const lane = this.channel.lane(number);
      const isTaken = key === 0 ? lane.event(payload) !== false : lane.state(key, payload);
      if (isTaken) record.put(key);
    }
  }

  read(): void {
    for (let next = this.channel.tryReceive(); next; next = this.channel.tryReceive()) {
      const key = next.type === "state" ? Number(next.key) : 0;
      this.records[next.lane]!.got(key, next.value);
    }
  }
}

/** Lives `steps` steps with kills and stalls, then lets everything arrive; throws what law was broken. */
export async function live(
  seed: number,
  channels: readonly [Channel, Channel],
  fates: Fates,
  steps: number,
): Promise<number> {
  const random = createRandom(seed);
  const ends = channels.map((channel) => new End(channel, random));
  ends[0]!.records = ends[1]!.put;
  ends[1]!.records = ends[0]!.put;
  let kills = 0;
  let isReading = [true, true];
  for (let step = 0; step < steps; step++) {
    ends[step % 2]!.act();
    const dice = random();
    if (dice < 0.06) {
      fates.kill();
      kills += 1;
    } else if (dice < 0.1) fates.stall?.(dice < 0.08);
    else if (dice < 0.16) isReading = [dice < 0.14, dice > 0.12];
    // Lets sockets have their turn; how long that takes is nobody's matter.
    for (let turns = ends[0]!.below(6); turns >= 0; turns--)
      await new Promise((resolve) => setImmediate(resolve));
    for (const [index, end] of ends.entries()) if (isReading[index]) end.read();
  }
  fates.stall?.(false);
  const isSettled = channels.map(() => false);
  for (const [index, channel] of channels.entries()) {
    void channel.drained().then(() => {
      isSettled[index] = true;
    });
  }
  await waitFor(`everything to arrive (seed ${seed})`, () => {
    for (const end of ends) end.read();
    const closed = channels.find(({ status }) => status.closed !== undefined);
    if (closed) throw new Error(`seed ${seed}: closed: ${JSON.stringify(closed.status.closed)}`);
    return isSettled.every(Boolean);
  });
  for (const end of ends) end.read();
  for (const end of ends) for (const record of end.put) record.finish();
  return kills;
}
