/**
 * How fast to send (`spec/SESSION.md`, section 11): by the queueing delay that the peer's arrival times reveal, not by
 * loss, so that a narrow link's buffer stays nearly empty and a noisy link is not taken for a narrow one. After LEDBAT
 * (RFC 6817) in what it measures, and CUBIC (RFC 9438) in how it probes.
 */
const INITIAL = 125_000;
const LEAST = 2_000;
const QUEUE_TARGET_US = 4_000;
const QUEUE_TARGET_US_MAX = 20_000;
/** From this share of the capacity found, the rate grows half as fast: what is too much becomes queue until it is noticed. */
const SURE_SHARE = 0.97;
/** On a carrier that sends lost packets again, all that follow wait for them; that passes, a queue stays. */
const RECOVERY_US_MAX = 500_000;
const ROUND_US_MIN = 25_000;
const BASE_SPAN_US = 5_000_000;
const BURST_US = 2_000;
const FLIGHT_ALLOWANCE_US = 30_000;
const FLIGHT_BYTES_MIN = 2 * 1_200;
/** Where all that follows a lost packet waits for it, that is so much longer under way. */
const FLIGHT_ROUND_TRIPS_RELIABLE = 3;
/** A packet is no larger than what leaves in this time: what comes first in the next one waits so long. */
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

/** One newly acknowledged packet, the largest of its acknowledgement. */
export interface Arrived {
  readonly number: number;
  readonly nextNumber: number;
  readonly sentUs: number;
  /** By the peer's clock. */
  readonly arrivedUs: number;
  readonly packetBytes: number;
  /** All bytes newly acknowledged. */
  readonly bytes: number;
  /** The carrier loses nothing, so that loss tells nothing of the link. */
  readonly isReliable: boolean;
}

interface Round {
  readonly end: number;
  readonly beganUs: number;
  readonly arrivedUs: number;
  acknowledged: number;
  lastArrivedUs: number;
  queueMinUs: number;
  wasHeldBack: boolean;
  lostBytes: number;
}

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
  #rivalry: Rivalry | undefined;
  #ended: Ended | undefined;
  readonly #base = new BaseDelay();
  #peak = new Peak();
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
    return next;
  }

  /** After an outage: as fast as before, but what was under way meanwhile says nothing. */
  resumed(): SendRate {
    const next = this.restarted(1);
    next.#isStarting = this.#isStarting;
    next.#capacity = this.#capacity;
    next.#peak = this.#peak;
    next.#mean = this.#mean;
    return next;
  }

  /** Bytes that may be in flight, given the least round trip and that of late. */
  flightBytesMax(leastUs: number, smoothedUs: number, isReliable: boolean): number {
    // A queue that others keep full is part of the way.
    const withRivals = this.#rivalry === undefined ? leastUs : Math.max(leastUs, smoothedUs);
    const roundTripUs = isReliable ? FLIGHT_ROUND_TRIPS_RELIABLE * leastUs : withRivals;
    return Math.max(FLIGHT_BYTES_MIN, (this.bytesPerSecond * (roundTripUs + FLIGHT_ALLOWANCE_US)) / 1e6);
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

  /** A packet leaves; for a peer that is silent at this share of what was delivered to it until then. */
  spend(nowUs: number, bytes: number, silentShare: number | undefined): void {
    const delivered = Math.max(LEAST, Math.min(this.#mean || this.bytesPerSecond, this.bytesPerSecond));
    const perSecond = silentShare === undefined ? this.bytesPerSecond : silentShare * delivered;
    const from = Math.max(this.nextAtUs, nowUs - BURST_US);
    this.nextAtUs = from + (bytes / perSecond) * 1e6;
  }

  acknowledged(nowUs: number, arrived: Arrived): void {
    // A large packet needs its time on a narrow link without any queue.
    const passingUs = (arrived.packetBytes / Math.max(this.bytesPerSecond, this.#peak.highest)) * 1e6;
    const spanUs = this.#rivalry === undefined ? BASE_SPAN_US : RIVALRY_BASE_SPAN_US;
    const queueUs = this.#base.excess(nowUs, arrived.arrivedUs - arrived.sentUs, spanUs) - passingUs;
    const round = this.#round;
    if (round === undefined) {
      this.#round = beginRound(nowUs, arrived);
      return;
    }
    round.acknowledged += arrived.bytes;
    round.lastArrivedUs = Math.max(round.lastArrivedUs, arrived.arrivedUs);
    round.queueMinUs = Math.min(round.queueMinUs, queueUs);
    round.wasHeldBack ||= this.#heldBack;
    this.#heldBack = false;
    if (arrived.number < round.end || nowUs - round.beganUs < ROUND_US_MIN) return;
    this.#round = beginRound(nowUs, arrived);
    this.#finish(nowUs, round, arrived.isReliable);
  }

  #finish(nowUs: number, round: Round, isReliable: boolean): void {
    const span = Math.max(1, round.lastArrivedUs - round.arrivedUs) / 1e6;
    const delivered = round.acknowledged / span;
    this.queueUs = Math.max(0, round.queueMinUs);
    this.#peak.note(nowUs, delivered);
    this.#mean += Math.min(1, span / MEAN_SECONDS) * (delivered - this.#mean);
    const lost = round.lostBytes;
    const overflows = lost > NOISE_BYTES && lost > NOISE_SHARE * (lost + round.acknowledged);
    const hasQueue = round.queueMinUs > this.#queueTargetUs;
    this.#queueSinceUs = hasQueue ? (this.#queueSinceUs ?? round.beganUs) : undefined;
    const recovers =
      isReliable && this.#queueSinceUs !== undefined && nowUs - this.#queueSinceUs < RECOVERY_US_MAX;
    if (this.#rivalry !== undefined) this.#compete(nowUs, this.#rivalry, round, delivered, span);
    else if (overflows) this.#fall(nowUs, delivered, span, isReliable);
    else if (hasQueue) {
      if (recovers) return;
      if (round.wasHeldBack) {
        this.#queueSinceUs = nowUs;
        this.#fall(nowUs, delivered, span, isReliable);
      } else this.#yieldSomewhat();
    } else {
      this.#falls = Math.max(0, this.#falls - 1);
      if (round.wasHeldBack) this.#grow();
    }
    this.bytesPerSecond = this.#clamp(this.bytesPerSecond);
  }

  /**
   * How long a queue may always be there: where a single packet takes longer than the usual target, one that waits for the
   * one before it sees no queue that stays.
   */
  get #queueTargetUs(): number {
    const packetUs = (PACKET_BYTES_MIN / this.bytesPerSecond) * 1e6;
    return Math.min(QUEUE_TARGET_US_MAX, Math.max(QUEUE_TARGET_US, packetUs));
  }

  /**
   * Who has less to send than it may does not learn what the link takes: the queue is that of others, or the peer was slow
   * to look.
   */
  #yieldSomewhat(): void {
    this.bytesPerSecond = Math.min(this.bytesPerSecond, Math.max(0.9 * this.bytesPerSecond, INITIAL));
  }

  /** A standing queue: its drain is the capacity; sending less empties it within about a tenth of a second. */
  #fall(nowUs: number, delivered: number, span: number, isReliable: boolean): void {
    if (this.#falls === 0) this.#beforeFalls = delivered;
    this.#isStarting = false;
    this.#falls += FALL;
    this.#capacity = delivered;
    const drain = this.queueUs / 1e6 / (0.1 + span);
    this.bytesPerSecond = Math.min(this.bytesPerSecond, delivered * Math.min(0.9, Math.max(0.5, 1 - drain)));
    if (this.#falls <= FALLS_MAX) return;
    // Whoever only yields to those who fill the queue gets nothing.
    if (isReliable) {
      this.bytesPerSecond = Math.max(this.bytesPerSecond, Math.min(this.#beforeFalls / 2, delivered));
      return;
    }
    // A rivalry that ended just now had not ended: it goes on with what it had.
    const ended =
      this.#ended !== undefined && nowUs - this.#ended.atUs < RIVALRY_RESUMED_US ? this.#ended : undefined;
    const before = Math.max(this.#beforeFalls, ended?.rate ?? 0);
    this.bytesPerSecond = Math.max(this.bytesPerSecond, RIVALRY_SHARE * before);
    this.#rivalry = new Rivalry(nowUs, ended?.lastsUs ?? RIVALRY_FIRST_US, ended === undefined);
  }

  /** Others keep the queue full: the rate answers to loss, as theirs does, and falls on trial now and then. */
  #compete(nowUs: number, rivalry: Rivalry, round: Round, delivered: number, span: number): void {
    if (rivalry.trial !== undefined) {
      this.#endTrial(nowUs, rivalry, rivalry.trial, round);
      return;
    }
    if (nowUs >= rivalry.untilUs) {
      rivalry.trial = { rate: this.bytesPerSecond, rounds: 0, empty: 0 };
      this.bytesPerSecond = Math.min(this.bytesPerSecond, delivered) / 2;
      return;
    }
    // Losses of one overflow are told in two rounds; they count once.
    rivalry.hasFallen = round.lostBytes > 0 && !rivalry.hasFallen;
    if (rivalry.hasFallen) this.bytesPerSecond *= RIVALRY_SHARE;
    else if (round.wasHeldBack) {
      const share = rivalry.isStarting ? 0.25 : RIVALRY_GROWTH_PER_SECOND * span;
      this.bytesPerSecond += Math.max(share * this.bytesPerSecond, RIVALRY_STEP_BYTES / span);
    }
    rivalry.isStarting &&= round.lostBytes === 0;
  }

  /** If the lower rate emptied the queue, nobody else was left to fill it. */
  #endTrial(nowUs: number, rivalry: Rivalry, trial: Trial, round: Round): void {
    const lastsUs = Math.min(2 * rivalry.lastsUs, RIVALRY_LONGEST_US);
    trial.rounds += 1;
    trial.empty = round.queueMinUs > this.#queueTargetUs ? 0 : trial.empty + 1;
    if (trial.empty === TRIAL_EMPTY) {
      this.#falls = 0;
      this.#capacity = undefined;
      this.bytesPerSecond = 0.85 * Math.min(trial.rate, this.#peak.highest);
      this.#ended = { atUs: nowUs, rate: trial.rate, lastsUs };
      this.#rivalry = undefined;
    } else if (trial.rounds === TRIAL_ROUNDS) {
      this.bytesPerSecond = trial.rate;
      this.#rivalry = new Rivalry(nowUs, lastsUs, rivalry.isStarting);
    }
  }

  #grow(): void {
    const ratio = this.#capacity === undefined ? 0 : this.bytesPerSecond / this.#capacity;
    const isNear = ratio >= 0.85 && ratio < 1.15;
    const careful = ratio >= SURE_SHARE ? 1.01 : 1.02;
    this.bytesPerSecond *= this.#isStarting ? 2 : isNear ? careful : 1.25;
  }

  #clamp(bytesPerSecond: number): number {
    return Math.min(Math.max(bytesPerSecond, LEAST), Math.max(this.budget, LEAST));
  }
}

function beginRound(nowUs: number, { nextNumber, arrivedUs }: Arrived): Round {
  return {
    end: nextNumber,
    beganUs: nowUs,
    arrivedUs,
    acknowledged: 0,
    lastArrivedUs: arrivedUs,
    queueMinUs: Number.POSITIVE_INFINITY,
    wasHeldBack: false,
    lostBytes: 0,
  };
}

/** What is kept of the rate at a loss, as in CUBIC. */
const RIVALRY_SHARE = 0.7;
/** In each round the rate grows by so many bytes per round trip, as in Reno, or by a share in a second. */
const RIVALRY_STEP_BYTES = 1_200;
const RIVALRY_GROWTH_PER_SECOND = 0.05;
/** The first trial comes so soon, later ones after twice the last time. */
const RIVALRY_FIRST_US = 2_000_000;
const RIVALRY_LONGEST_US = 16_000_000;
/** While others keep the queue full, an empty one is rarer. */
const RIVALRY_BASE_SPAN_US = 30_000_000;
/** A rivalry that begins so soon after one that ended is the same. */
const RIVALRY_RESUMED_US = 10_000_000;
const TRIAL_ROUNDS = 5;
/** Alone is who sees no queue for so many rounds of a trial: that of others comes and goes. */
const TRIAL_EMPTY = 3;

/** Others fill the queue of the narrowest hop. */
class Rivalry {
  readonly untilUs: number;
  hasFallen = false;
  /** The rate fell to see whether they are still there. */
  trial: Trial | undefined;

  constructor(
    nowUs: number,
    readonly lastsUs: number,
    /** Nothing was lost yet: the rate grows as fast as on a link of its own. */
    public isStarting: boolean,
  ) {
    this.untilUs = nowUs + lastsUs;
  }
}

/** A rivalry that seemed to be over. */
interface Ended {
  readonly atUs: number;
  readonly rate: number;
  /** How long it would have gone on until the next trial. */
  readonly lastsUs: number;
}

interface Trial {
  /** What the rate was before. */
  readonly rate: number;
  rounds: number;
  /** Rounds in a row without a queue. */
  empty: number;
}

/** The least one-way delay of late; the offset of the clocks is in it, and cancels out in differences. */
class BaseDelay {
  #beganUs = Number.NEGATIVE_INFINITY;
  #least = Number.POSITIVE_INFINITY;
  #previous = Number.POSITIVE_INFINITY;

  excess(nowUs: number, delayUs: number, spanUs: number): number {
    if (nowUs - this.#beganUs >= spanUs) {
      this.#previous = this.#least;
      this.#least = delayUs;
      this.#beganUs = nowUs;
    }
    this.#least = Math.min(this.#least, delayUs);
    return delayUs - Math.min(this.#least, this.#previous);
  }
}

/** The highest delivery rate of late: the link's is not lower. */
class Peak {
  #beganUs = Number.NEGATIVE_INFINITY;
  #current = 0;
  #previous = 0;

  get highest(): number {
    return Math.max(this.#current, this.#previous);
  }

  note(nowUs: number, delivered: number): void {
    if (nowUs - this.#beganUs >= BASE_SPAN_US) {
      this.#previous = this.#current;
      this.#current = 0;
      this.#beganUs = nowUs;
    }
    this.#current = Math.max(this.#current, delivered);
  }
}
