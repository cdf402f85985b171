/**
 * How fast to send (`spec/SESSION.md`, section 11): by the queueing delay that the peer's arrival times reveal, not by
 * loss, so that a narrow link's buffer stays nearly empty and a noisy link is not taken for a narrow one. After LEDBAT
 * (RFC 6817) in what it measures, and CUBIC (RFC 9438) in how it probes.
 */

import {
  COMPETITIVE_FIRST_US,
  COMPETITIVE_GROWTH_PER_SECOND,
  COMPETITIVE_HEADROOM,
  COMPETITIVE_LONGEST_US,
  COMPETITIVE_RESUMED_US,
  COMPETITIVE_SHARE,
  COMPETITIVE_START,
  COMPETITIVE_STEP_BYTES,
  CompetitiveMode,
  type Ended,
  OTHERS_DELIVERED_MAX,
  OTHERS_DELIVERED_MIN,
  OTHERS_QUEUE_US,
  TRIAL_EMPTY,
  TRIAL_ROUNDS,
  type Trial,
} from "./competitive.js";
import { BaseDelay, Noise, Peak } from "./history.js";
import { type Arrived, Round } from "./round.js";

const INITIAL = 125_000;
const LEAST = 2_000;
const QUEUE_TARGET_US = 4_000;
const QUEUE_TARGET_US_MAX = 20_000;
/**
 * The least delay of a round may be so many times the noise without any queue: where packets keep their order, each waits for
 * the slowest before it.
 */
const QUEUE_NOISES = 3;
/** From this share of the capacity found, the rate grows gently. */
const NEAR_SHARE = 0.85;
/** And from this, half as fast: what is too much becomes queue until it is noticed. */
const SURE_SHARE = 0.97;
/** On a carrier that sends lost packets again, all that follow wait for them; that passes, a queue stays. */
const RECOVERY_US_MAX = 500_000;
const BURST_US = 2_000;
const FLIGHT_ALLOWANCE_US = 30_000;
/** With jitter, packets and their acknowledgements take longer than the least round trip by some of this. */
const FLIGHT_NOISES = 4;
const FLIGHT_BYTES_MIN = 2 * 1_200;
/** On a reliable carrier everything behind a lost packet waits for it, so packets stay in flight for more round trips. */
const FLIGHT_ROUND_TRIPS_RELIABLE = 3;
/** A packet is no larger than what leaves in this time: the first message of the next packet waits that long. */
const PACKET_SECONDS = 0.005;
/** But no smaller than this, because of what every packet costs on the link. */
const PACKET_BYTES_MIN = 600;
/** With what TLS and WebSocket add it fits into one segment of TCP: more segments for the same would be lost more often. */
const SEGMENT_BYTES = 1_380;
/** What is delivered is averaged over about this. */
const MEAN_SECONDS = 0.5;
const FALL = 3;
/** A queue that stays though the rate fell so often is somebody else's. */
const FALLS_MAX = 5 * FALL;
/** More is lost of a round, in share and in bytes, only where a link without a buffer is full. */
const NOISE_SHARE = 0.3;
const NOISE_BYTES = 30_000;

export class SendRate {
  bytesPerSecond: number;
  queueUs = 0;
  nextAtUs = Number.NEGATIVE_INFINITY;
  #isStarting = true;
  #capacity: number | undefined;
  #falls = 0;
  /** Every round since then saw a queue. */
  #queueSinceUs: number | undefined;
  #beforeFalls = 0;
  #competitive: CompetitiveMode | undefined;
  #ended: Ended | undefined;
  readonly #base = new BaseDelay();
  #peak = new Peak();
  #noise = new Noise();
  #round: Round | undefined;
  #heldBack = false;
  /** What was delivered of late, bytes a second. */
  #mean = 0;

  constructor(
    readonly budget: number,
    bytesPerSecond = INITIAL,
  ) {
    this.bytesPerSecond = this.#clamp(bytesPerSecond);
  }

  /** A rate that knows nothing of the path but how fast the last one was. */
  restarted(share: number): SendRate {
    return new SendRate(this.budget, this.bytesPerSecond * share);
  }

  /** A rate that knows nothing of the path any more, after a silence. */
  slowedDown(): SendRate {
    const next = this.restarted(0.5);
    next.#mean = this.#mean;
    next.#noise = this.#noise;
    return next;
  }

  /** After an outage: as fast as before, but what was in flight meanwhile says nothing of the path. */
  resumed(): SendRate {
    const next = this.restarted(1);
    next.#isStarting = this.#isStarting;
    next.#capacity = this.#capacity;
    next.#peak = this.#peak;
    next.#noise = this.#noise;
    next.#mean = this.#mean;
    return next;
  }

  /** Bytes that may be in flight, given the least round trip and that of late. */
  flightBytesMax(leastUs: number, smoothedUs: number, isReliable: boolean): number {
    // A queue that others keep full is part of the path.
    const withRivals = this.#competitive === undefined ? leastUs : Math.max(leastUs, smoothedUs);
    const roundTripUs = isReliable ? FLIGHT_ROUND_TRIPS_RELIABLE * leastUs : withRivals;
    const allowanceUs = FLIGHT_ALLOWANCE_US + FLIGHT_NOISES * this.#noise.meanUs;
    return Math.max(FLIGHT_BYTES_MIN, (this.bytesPerSecond * (roundTripUs + allowanceUs)) / 1e6);
  }

  /** How large a packet may become, if its first message does not need more. */
  packetBytes(isReliable: boolean): number {
    if (!isReliable) return Math.max(PACKET_BYTES_MIN, Math.floor(this.bytesPerSecond * PACKET_SECONDS));
    // The rate may be far above what such a carrier really takes.
    const bytes = Math.min(this.bytesPerSecond, this.#mean) * PACKET_SECONDS;
    return Math.max(1, Math.floor(bytes / SEGMENT_BYTES)) * SEGMENT_BYTES;
  }

  /** A packet is ready but must wait for its turn. */
  holdBack(): void {
    this.#heldBack = true;
  }

  /** A packet was lost. That says something only where others fill the queue, or if much is. */
  lost(bytes: number): void {
    if (this.#round !== undefined) this.#round.lostBytes += bytes;
  }

  /** Packets that had been taken for lost were only overtaken. */
  found(bytes: number): void {
    if (this.#round !== undefined) this.#round.lostBytes = Math.max(0, this.#round.lostBytes - bytes);
  }

  /** A packet leaves; for a peer that is silent at this share of what was delivered to it until then. */
  spend(nowUs: number, bytes: number, silentShare: number | undefined): void {
    const delivered = Math.max(LEAST, this.#mean || this.bytesPerSecond);
    const silentRate = (silentShare ?? Number.POSITIVE_INFINITY) * delivered;
    const perSecond = Math.min(silentRate, this.bytesPerSecond);
    const from = Math.max(this.nextAtUs, nowUs - BURST_US);
    this.nextAtUs = from + (bytes / perSecond) * 1e6;
  }

  acknowledged(nowUs: number, arrived: Arrived): void {
    // A large packet needs its time on a narrow link without any queue.
    const passingUs = (arrived.packetBytes / Math.max(this.bytesPerSecond, this.#peak.highest)) * 1e6;
    const delayUs = arrived.arrivedUs - arrived.sentUs;
    const queueUs = this.#base.excess(nowUs, delayUs, this.#competitive !== undefined) - passingUs;
    // What a reliable carrier sends again comes late, which is not the path's jitter.
    if (!arrived.isReliable) this.#noise.note(queueUs);
    const round = this.#round;
    if (round === undefined) {
      this.#round = new Round(nowUs, arrived);
      return;
    }
    round.note(arrived, queueUs);
    round.wasHeldBack ||= this.#heldBack;
    this.#heldBack = false;
    if (!round.isOver(nowUs, arrived)) return;
    this.#round = new Round(nowUs, arrived);
    this.#adjust(nowUs, round, arrived.isReliable);
  }

  /** A round is over, and the next one has begun. */
  #adjust(nowUs: number, round: Round, isReliable: boolean): void {
    const { span, delivered } = round;
    this.queueUs = Math.max(0, round.queueMinUs);
    this.#peak.note(nowUs, delivered);
    this.#mean += Math.min(1, span / MEAN_SECONDS) * (delivered - this.#mean);
    const lost = round.lostBytes;
    const overflows = lost > NOISE_BYTES && lost > NOISE_SHARE * (lost + round.acknowledged);
    const hasQueue = round.queueMinUs > this.#queueTargetUs;
    this.#queueSinceUs = hasQueue ? (this.#queueSinceUs ?? round.beganUs) : undefined;
    const recovers =
      isReliable && this.#queueSinceUs !== undefined && nowUs - this.#queueSinceUs < RECOVERY_US_MAX;
    if (this.#competitive !== undefined) this.#compete(nowUs, this.#competitive, round, isReliable);
    else if (overflows) this.#fall(nowUs, round);
    else if (recovers || round.followsFall) return;
    else if (hasQueue) {
      if (this.#isOfOthers(round)) this.#beginCompeting(nowUs);
      else if (round.wasHeldBack) {
        this.#queueSinceUs = nowUs;
        this.#fall(nowUs, round);
      } else this.#yieldSomewhat();
    } else {
      this.#falls = Math.max(0, this.#falls - 1);
      if (round.wasHeldBack) this.#grow();
    }
    this.bytesPerSecond = this.#clamp(this.bytesPerSecond);
  }

  /**
   * How long a queue may always be there: where a single packet takes longer than the usual target, one that waits for the
   * previous one sees no standing queue. The more the path jitters, the longer.
   */
  get #queueTargetUs(): number {
    const packetUs = (PACKET_BYTES_MIN / this.bytesPerSecond) * 1e6;
    const targetUs = Math.min(QUEUE_TARGET_US_MAX, Math.max(QUEUE_TARGET_US, packetUs));
    return targetUs + QUEUE_NOISES * this.#noise.meanUs;
  }

  /**
   * There is a queue, but the sender had less to send than its rate allows: the queue is that of others, or the peer was slow
   * to look.
   */
  #yieldSomewhat(): void {
    this.bytesPerSecond = Math.min(this.bytesPerSecond, Math.max(0.9 * this.bytesPerSecond, INITIAL));
  }

  /** A standing queue: its drain is the capacity; sending less empties it within about a tenth of a second. */
  #fall(nowUs: number, round: Round): void {
    const drain = this.queueUs / 1e6 / (0.1 + round.span);
    const kept = Math.min(0.9, Math.max(0.5, 1 - drain));
    if (this.#round !== undefined) this.#round.followsFall = true;
    if (round.wasMostlyIdle) {
      this.bytesPerSecond *= kept;
      return;
    }
    const { delivered } = round;
    if (this.#falls === 0) this.#beforeFalls = delivered;
    this.#isStarting = false;
    this.#falls += FALL;
    this.#capacity = delivered;
    this.bytesPerSecond = Math.min(this.bytesPerSecond, kept * delivered);
    // A sender that only yields to others that fill the queue is left with nothing.
    if (this.#falls > FALLS_MAX) this.#beginCompeting(nowUs);
  }

  /**
   * Whether a long queue does not answer to the rate that fell before this round: as much arrives as is sent, so it is not our
   * own that drains.
   */
  #isOfOthers(round: Round): boolean {
    const hasFallen = this.#falls > 0 && !round.followsFall;
    return hasFallen && this.bytesPerSecond < 0.9 * this.#beforeFalls && this.#staysLong(round);
  }

  /** Whether the queue is long and is not our own that drains. */
  #staysLong(round: Round): boolean {
    const delivered = round.delivered / this.bytesPerSecond;
    const isSteady = delivered >= OTHERS_DELIVERED_MIN && delivered <= OTHERS_DELIVERED_MAX;
    return round.wasHeldBack && isSteady && round.queueMinUs > OTHERS_QUEUE_US + this.#queueTargetUs;
  }

  /** Others fill the queue. */
  #beginCompeting(nowUs: number): void {
    // Competitive mode that ended just now had not ended: it goes on with the rate that it had.
    const ended =
      this.#ended !== undefined && nowUs - this.#ended.atUs < COMPETITIVE_RESUMED_US
        ? this.#ended
        : undefined;
    const before = Math.max(this.#beforeFalls, ended?.rate ?? 0);
    this.bytesPerSecond = Math.max(this.bytesPerSecond, COMPETITIVE_SHARE * before);
    this.#competitive = new CompetitiveMode(
      nowUs,
      ended?.lastsUs ?? COMPETITIVE_FIRST_US,
      ended === undefined,
    );
  }

  /** Others keep the queue full: the rate answers to loss, as theirs does, and falls on trial now and then. */
  #compete(nowUs: number, competitive: CompetitiveMode, round: Round, isReliable: boolean): void {
    if (competitive.trial !== undefined) {
      this.#endTrial(nowUs, competitive, competitive.trial, round);
      return;
    }
    if (nowUs >= competitive.untilUs) {
      competitive.trial = { rate: this.bytesPerSecond, rounds: 0, empty: 0 };
      this.bytesPerSecond = Math.min(this.bytesPerSecond, round.delivered) / 2;
      return;
    }
    // Losses of one overflow are detected in two rounds; they count once.
    competitive.hasFallen = round.lostBytes > 0 && !competitive.hasFallen;
    if (competitive.hasFallen) this.bytesPerSecond *= COMPETITIVE_SHARE;
    else if (round.wasHeldBack) {
      const share = competitive.isStarting ? COMPETITIVE_START : COMPETITIVE_GROWTH_PER_SECOND * round.span;
      this.bytesPerSecond += Math.max(share * this.bytesPerSecond, COMPETITIVE_STEP_BYTES / round.span);
    }
    if (isReliable) {
      this.bytesPerSecond = Math.min(this.bytesPerSecond, COMPETITIVE_HEADROOM * this.#peak.highest);
    }
    competitive.isStarting &&= round.lostBytes === 0;
  }

  /** If the lower rate emptied the queue, nobody else was left to fill it. The first round holds packets sent before. */
  #endTrial(nowUs: number, competitive: CompetitiveMode, trial: Trial, round: Round): void {
    const lastsUs = Math.min(2 * competitive.lastsUs, COMPETITIVE_LONGEST_US);
    trial.rounds += 1;
    trial.empty = round.queueMinUs > this.#queueTargetUs ? 0 : trial.empty + 1;
    if (trial.empty === TRIAL_EMPTY) {
      this.#falls = 0;
      this.#capacity = undefined;
      this.bytesPerSecond = 0.85 * Math.min(trial.rate, this.#peak.highest);
      this.#ended = { atUs: nowUs, rate: trial.rate, lastsUs };
      this.#competitive = undefined;
    } else if (trial.rounds === TRIAL_ROUNDS || (trial.rounds > 1 && this.#staysLong(round))) {
      this.bytesPerSecond = trial.rate;
      this.#competitive = new CompetitiveMode(nowUs, lastsUs, competitive.isStarting);
    }
  }

  /** The pacer held packets back, and no queue came of it. */
  #grow(): void {
    this.bytesPerSecond *= this.#isStarting ? 2 : this.#growth();
  }

  #growth(): number {
    const ratio =
      this.#capacity === undefined ? Number.POSITIVE_INFINITY : this.bytesPerSecond / this.#capacity;
    // Not beyond what was found, in one step.
    if (ratio < NEAR_SHARE) return Math.min(1.25, 0.9 / ratio);
    if (ratio < SURE_SHARE) return 1.02;
    return ratio < 1.15 ? 1.01 : 1.25;
  }

  #clamp(bytesPerSecond: number): number {
    return Math.min(Math.max(bytesPerSecond, LEAST), Math.max(this.budget, LEAST));
  }
}
