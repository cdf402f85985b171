/** Counts of a link since its start. */
export interface LossCounts {
  readonly packets: number;
  readonly lost: number;
}

/** Samples of the window: at two a second, five seconds. */
const SAMPLES_MAX = 10;

/** The share of packets that a link lost within the last samples. */
export class LossMeter {
  readonly #samples: LossCounts[] = [];

  /** Adds a sample. Returns the share of the window, 0 to 1; `undefined` if no packet was sent in it. */
  add({ packets, lost }: LossCounts): number | undefined {
    this.#samples.push({ packets, lost });
    if (this.#samples.length > SAMPLES_MAX + 1) this.#samples.shift();
    const first = this.#samples[0]!;
    const sent = packets - first.packets;
    return sent <= 0 ? undefined : (lost - first.lost) / sent;
  }
}
