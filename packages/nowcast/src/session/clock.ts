/** The peer's clock, estimated from the four timestamps of NTP (`spec/SESSION.md`, section 12; RFC 5905, section 8). */
const KEPT = 16;
const KEEP_EVERY_US = 1_000_000;
const SLOPE_TOLERANCE_US = 1_000;
const SLOPE_SPAN_US_MIN = 5_000_000;
/** Error of rounded times. */
const ROUNDING_US = 1_000;
/** The maximum difference in speed of two running clocks, as a share. */
const DRIFT_MAX = 0.001;

export const WIRE_UNIT_US = 16;
const WIRE_TIME_MODULUS = 2 ** 24;

interface Sample {
  readonly atUs: number;
  readonly offsetUs: number;
  readonly roundTripUs: number;
}

export class PeerClock {
  #kept: Sample[] = [];
  #second: Sample | undefined;
  #fallbackUs = 0;
  #best: Sample | undefined;
  #drift = 0;

  /**
   * Before the first sample, estimates the offset from the time in a packet that arrives. The error
   * of this estimate is the one-way delay.
   */
  guess(nowUs: number, peerUs: number): void {
    this.#fallbackUs = peerUs - nowUs;
  }

  /**
   * Adds a sample: the time at which we sent, the times at which the peer received and answered by its clock, and the
   * current time. If a clock stood still, for example while a computer slept, the sample contradicts older ones. The
   * older ones are discarded.
   */
  sample(sentUs: number, arrivedUs: number, answeredUs: number, nowUs: number): void {
    const heldUs = Math.max(0, answeredUs - arrivedUs);
    // Our clock stood still while the peer held the packet, so no offset is right for all four times.
    if (heldUs > nowUs - sentUs + ROUNDING_US) return;
    const roundTripUs = Math.max(0, nowUs - sentUs - heldUs);
    const offsetUs = (arrivedUs - sentUs + answeredUs - nowUs) / 2;
    const sample: Sample = { atUs: nowUs, offsetUs, roundTripUs };
    this.#kept = this.#kept.filter((older) => agree(older, sample));
    if (this.#second && !agree(this.#second, sample)) this.#second = undefined;
    const second = this.#second;
    if (second === undefined || nowUs - second.atUs >= KEEP_EVERY_US) {
      if (second) this.#kept.push(second);
      if (this.#kept.length > KEPT) this.#kept.shift();
      this.#second = sample;
    } else if (roundTripUs < second.roundTripUs) {
      this.#second = { atUs: second.atUs, offsetUs, roundTripUs };
    }
    this.#estimate();
  }

  /** The peer's clock minus ours; `undefined` before the first sample. */
  offsetUs(nowUs: number): number | undefined {
    return this.#best && this.#best.offsetUs + (nowUs - this.#best.atUs) * this.#drift;
  }

  /** The maximum error of the offset. */
  get uncertaintyUs(): number | undefined {
    return this.#best && this.#best.roundTripUs / 2;
  }

  get driftPpm(): number {
    return this.#drift * 1e6;
  }

  /** Returns the peer's full time for the 24-bit time `wire` of a packet that arrived now. */
  unfold(wire: number, nowUs: number): number {
    const expected = Math.floor((nowUs + (this.offsetUs(nowUs) ?? this.#fallbackUs)) / WIRE_UNIT_US);
    const ahead = modulo(wire - expected, WIRE_TIME_MODULUS);
    const difference = ahead > WIRE_TIME_MODULUS / 2 ? ahead - WIRE_TIME_MODULUS : ahead;
    return (expected + difference) * WIRE_UNIT_US;
  }

  /** Our time at which the peer's clock showed `peerUs`, not after now. */
  toOurs(peerUs: number, nowUs: number): number {
    return Math.min(nowUs, peerUs - (this.offsetUs(nowUs) ?? this.#fallbackUs));
  }

  #estimate(): void {
    const samples = this.#second ? [...this.#kept, this.#second] : this.#kept;
    const best = samples.reduce((least, sample) => (sample.roundTripUs < least.roundTripUs ? sample : least));
    this.#best = best;
    const good = samples.filter((sample) => sample.roundTripUs <= best.roundTripUs + SLOPE_TOLERANCE_US);
    const times = good.map((sample) => sample.atUs - best.atUs);
    if (Math.max(...times) - Math.min(...times) < SLOPE_SPAN_US_MIN) return;
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const offsets = good.map((sample) => sample.offsetUs - best.offsetUs);
    const [meanTime, meanOffset] = [mean(times), mean(offsets)];
    const covariance = mean(times.map((time, index) => (time - meanTime) * (offsets[index]! - meanOffset)));
    const variance = mean(times.map((time) => (time - meanTime) ** 2));
    if (variance > 0 && Math.abs(covariance / variance) <= DRIFT_MAX) this.#drift = covariance / variance;
  }
}

/** Whether both samples can be true of clocks that ran between them. Each offset is exact to half of its round trip. */
function agree(older: Sample, newer: Sample): boolean {
  const errorUs = (older.roundTripUs + newer.roundTripUs) / 2 + ROUNDING_US;
  return Math.abs(newer.offsetUs - older.offsetUs) <= errorUs + DRIFT_MAX * (newer.atUs - older.atUs);
}

/** Converts a time to the form in packets. */
export function toWireTime(nowUs: number): number {
  return modulo(Math.floor(nowUs / WIRE_UNIT_US), WIRE_TIME_MODULUS);
}

function modulo(value: number, modulus: number): number {
  return ((value % modulus) + modulus) % modulus;
}
