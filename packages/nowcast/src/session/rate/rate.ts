/**
 * The sending rate (`spec/SESSION.md`, section 11). The rate follows the queueing delay, which the peer's
 * arrival times show. Loss lowers the rate only beside competitors, and in a test for a policer. Measurement
 * follows LEDBAT (RFC 6817), probing follows CUBIC (RFC 9438).
 */

import {
  COMPETITIVE_FIRST_US,
  COMPETITIVE_HEADROOM,
  COMPETITIVE_RESUMED_US,
  COMPETITIVE_SHARE,
  CompetitiveMode,
  competitiveGrowth,
  EMPTY_ROUNDS,
  type Ended,
  OTHERS_DELIVERED_MAX,
  OTHERS_DELIVERED_MIN,
  TRIAL_EMPTY,
  TRIAL_ROUNDS,
  TRIAL_SHARE,
  type Trial,
} from "./competitive.js";
import {
  ABOVE_USUAL_US,
  DELIVERY_US,
  Delivery,
  DRAINED_ALLOWANCE_US,
  DRAINED_US,
  Drain,
  GrowingQueue,
  LONG_QUEUE_US,
  OTHERS_DRAINS,
  OTHERS_NOISES,
  OTHERS_SHARE,
  OTHERS_US,
  OWN_SHARE,
  PAUSE_NOISES,
  PAUSE_SHARE,
  PAUSE_US,
  QueueTest,
  SLOW_SHARE,
  UNUSUAL_US,
} from "./drain.js";
import { BaseDelay, type BeforeFalls, Noise, Peak, Rivals, Usual } from "./history.js";
import { Policer } from "./policer.js";
import { type Arrived, Round } from "./round.js";
import { Window } from "./window.js";

const INITIAL = 125_000;
const LEAST = 2_000;
const QUEUE_TARGET_US = 4_000;
const QUEUE_TARGET_US_MAX = 20_000;
/** Without a queue, the least delay of a round may be this multiple of the noise, because packets wait for slower ones. */
const QUEUE_NOISES = 3;
/** Above this share of the found capacity, the rate grows slowly. */
const NEAR_SHARE = 0.85;
/** Above this share it grows half as fast, because any excess builds a queue until it is detected. */
const SURE_SHARE = 0.97;
/** Share of the delivery rate to which the rate falls after a queue was found. */
const KEPT_SHARE = 0.9;
/** A link counts as faster if it delivered more than this multiple of the found capacity. */
const FASTER = 1.3;
/** A reliable carrier delays packets behind a lost one. Only a delay that lasts for this time counts as a queue. */
const RECOVERY_US_MAX = 500_000;
const BURST_US = 2_000;
const FLIGHT_ALLOWANCE_US = 30_000;
/** The bound of the flight allows for jitter by this multiple of the noise. */
const FLIGHT_NOISES = 4;
const FLIGHT_BYTES_MIN = 2 * 1_200;
/** On a reliable carrier all data after a lost packet waits for it, so packets stay in flight for more round trips. */
const FLIGHT_ROUND_TRIPS_RELIABLE = 3;
/** Maximum sending time of a packet, because the first message of the next packet waits that long. */
const PACKET_SECONDS = 0.005;
/** Minimum size of a packet, because of the overhead of every packet. */
const PACKET_BYTES_MIN = 600;
/** With the overhead of TLS and WebSocket, this fits into one TCP segment. More segments are lost more often. */
const SEGMENT_BYTES = 1_380;
/** The delivery rate is averaged over about this time. */
const MEAN_SECONDS = 0.5;
const FALL = 3;
/** A queue belongs to others if it stays although the rate fell this often. */
const FALLS_MAX = 5 * FALL;

export class SendRate {
  bytesPerSecond: number;
  queueUs = 0;
  nextAtUs = Number.NEGATIVE_INFINITY;
  #isStarting = true;
  #capacity: number | undefined;
  #falls = 0;
  /** The time since which every round had a queue. */
  #queueSinceUs: number | undefined;
  #beforeFalls: BeforeFalls = { delivered: 0, allowed: 0 };
  #growing: GrowingQueue | undefined;
  #drain: Drain | undefined;
  #policer = new Policer();
  /** The longest recent queueing delay. */
  #usual = new Usual();
  readonly #rivals = new Rivals();
  /** Consecutive rounds in which the rate grew beyond the found capacity. */
  #probes = 0;
  #competitive: CompetitiveMode | undefined;
  #ended: Ended | undefined;
  readonly #base = new BaseDelay();
  #peak = new Peak();
  #noise = new Noise();
  #round: Round | undefined;
  #heldBack = false;
  /** The rate of recent deliveries, in bytes a second. */
  #mean = 0;

  constructor(
    readonly budget: number,
    bytesPerSecond = INITIAL,
  ) {
    this.bytesPerSecond = this.#clamp(bytesPerSecond);
  }

  /** Makes the state for a new path, with only the speed of the previous path. */
  restarted(share: number): SendRate {
    return new SendRate(this.budget, this.bytesPerSecond * share);
  }

  /** Makes the initial state after a silence, without any measurement of the path. */
  slowedDown(): SendRate {
    const next = this.restarted(0.5);
    next.#mean = this.#mean;
    next.#noise = this.#noise;
    return next;
  }

  /** Continues after an outage at the earlier rate, and ignores packets in flight during the outage. */
  resumed(): SendRate {
    const next = this.restarted(1);
    next.#isStarting = this.#isStarting;
    next.#capacity = this.#capacity;
    next.#policer = this.#policer;
    next.#peak = this.#peak;
    next.#noise = this.#noise;
    next.#mean = this.#mean;
    return next;
  }

  /** Whether packets are sent at a fraction of the rate until the queue is empty, however many bytes are in flight. */
  get isDraining(): boolean {
    return this.#drain !== undefined;
  }

  /** Maximum bytes in flight, given the least and the smoothed round trip. */
  flightBytesMax(leastUs: number, smoothedUs: number, isReliable: boolean): number {
    // If others keep the queue full, its delay counts as part of the path.
    const withRivals = this.#competitive === undefined ? leastUs : Math.max(leastUs, smoothedUs);
    const roundTripUs = isReliable ? FLIGHT_ROUND_TRIPS_RELIABLE * leastUs : withRivals;
    const beyondUs = this.isDraining ? DRAINED_ALLOWANCE_US : FLIGHT_ALLOWANCE_US;
    const window = this.#competitive?.decisiveWindow;
    if (window !== undefined) return window.bytes;
    const allowanceUs = beyondUs + FLIGHT_NOISES * this.#noise.meanUs;
    return Math.max(FLIGHT_BYTES_MIN, (this.bytesPerSecond * (roundTripUs + allowanceUs)) / 1e6);
  }

  /** Maximum size of a packet, unless its first message needs more. */
  packetBytes(isReliable: boolean): number {
    if (!isReliable) return Math.max(PACKET_BYTES_MIN, Math.floor(this.bytesPerSecond * PACKET_SECONDS));
    // The rate may be far above the delivery rate of such a carrier.
    const bytes = Math.min(this.bytesPerSecond, this.#mean) * PACKET_SECONDS;
    return Math.max(1, Math.floor(bytes / SEGMENT_BYTES)) * SEGMENT_BYTES;
  }

  /** Records that a packet is ready but must wait. */
  holdBack(): void {
    this.#heldBack = true;
  }

  /** Handles a lost packet. Loss counts only if others fill the queue, or if much is lost. */
  lost(bytes: number): void {
    if (this.#round !== undefined) this.#round.lostBytes += bytes;
  }

  /** Corrects the number of lost bytes: packets that had been declared lost were only overtaken. */
  found(bytes: number): void {
    if (this.#round !== undefined) this.#round.lostBytes = Math.max(0, this.#round.lostBytes - bytes);
  }

  /**
   * Handles a departing packet. For a silent peer, `silentShare` is the share of its earlier delivery rate. `hasRoomInFlight`:
   * whether the bytes in flight leave room for more.
   */
  spend(nowUs: number, bytes: number, silentShare: number | undefined, hasRoomInFlight: boolean): void {
    const isSilent = silentShare !== undefined;
    const share = isSilent ? 1 : this.#shareAt(nowUs, hasRoomInFlight);
    const delivered = Math.max(LEAST, this.#mean || this.bytesPerSecond);
    const silentRate = (silentShare ?? Number.POSITIVE_INFINITY) * delivered;
    const perSecond = Math.min(silentRate, share * this.bytesPerSecond);
    const from = Math.max(this.nextAtUs, nowUs - BURST_US);
    this.nextAtUs = from + (bytes / perSecond) * 1e6;
  }

  /** The share of the rate at which the next packet leaves: 1, except in pauses. */
  #shareAt(nowUs: number, hasRoomInFlight: boolean): number {
    if (this.#competitive?.pauses(nowUs)) return PAUSE_SHARE;
    return this.#drain?.shareAt(nowUs, hasRoomInFlight) ?? 1;
  }

  acknowledged(nowUs: number, arrived: Arrived): void {
    // On a narrow link, a large packet takes time even without a queue, so its own time is subtracted.
    const passingUs = (arrived.packetBytes / this.#linkRate) * 1e6;
    const delayUs = arrived.arrivedUs - arrived.sentUs;
    const queueUs = this.#base.excess(nowUs, delayUs, this.#competitive !== undefined) - passingUs;
    // A packet that a reliable carrier retransmits arrives late, so on such a carrier delays are not used to
    // measure jitter.
    if (!arrived.isReliable) this.#noise.note(queueUs);
    this.#watchQueue(nowUs, arrived, queueUs);
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
    this.#adjust(nowUs, round, arrived, queueUs);
  }

  /** The rate of the narrowest hop, if it is known. */
  get #linkRate(): number {
    const { highest } = this.#peak;
    const isFound = this.#capacity !== undefined && this.#competitive === undefined;
    return Math.max(this.bytesPerSecond, isFound ? Math.min(this.#capacity!, highest) : highest);
  }

  /** Handles an acknowledgement whose newest packet had this queueing delay. */
  #watchQueue(nowUs: number, arrived: Arrived, queueUs: number): void {
    if (this.#drain !== undefined) {
      this.#goOnDraining(nowUs, this.#drain, arrived, queueUs);
      return;
    }
    if (this.#competitive !== undefined) {
      this.#watchWindow(nowUs, this.#competitive, arrived, queueUs);
      return;
    }
    const { longestUs } = this.#usual;
    const aboveTargetUs = UNUSUAL_US + this.#queueTargetUs;
    const unusualUs = Number.isFinite(longestUs)
      ? Math.min(aboveTargetUs, longestUs + ABOVE_USUAL_US)
      : aboveTargetUs;
    if (arrived.isReliable || queueUs <= unusualUs) {
      // A queue that did not grow counts as usual.
      this.#usual.note(nowUs, Math.max(queueUs, this.#growing?.longestUs ?? queueUs));
      this.#growing = undefined;
    } else if (!this.#growing?.continues(arrived)) {
      this.#growing = new GrowingQueue(arrived, queueUs);
    } else if (this.#growing.note(arrived, queueUs, this.#mean) && queueUs > this.#drainedUs) {
      this.#beginDrain(nowUs, arrived, queueUs, this.#growing.delivery);
    }
  }

  /**
   * The rate of the link that a delivery shows to a sender with this rate. Beside competitors, packets arrive only a little more
   * slowly than they left. After a pause, they left slowly. Neither shows that the link became slower.
   */
  #shownBy(nowUs: number, delivery: Delivery, rate: number): number {
    const { rate: delivered, sentRate } = delivery;
    const hasRivals = this.#rivals.areEvident(nowUs);
    const before = this.#falls > 0 || hasRivals ? this.#beforeFalls.delivered : 0;
    const known = Math.max(this.#mean, before, delivered);
    const knownRate = Math.min(rate, known);
    if (!hasRivals && sentRate > SLOW_SHARE * knownRate) return delivered;
    return Math.min(known, Math.max(delivered, (knownRate * delivered) / sentRate));
  }

  #beginDrain(nowUs: number, arrived: Arrived, queueUs: number, delivery: Delivery): void {
    const rate = this.bytesPerSecond;
    const delivered = this.#shownBy(nowUs, delivery, rate);
    // If nothing was held back, the delivery rate is only what the application sent. After a fall, a short queue may
    // belong to others.
    let least = 0;
    if (!(this.#heldBack || this.#round?.wasHeldBack)) least = Math.min(INITIAL, this.bytesPerSecond);
    else if (this.#falls > 0 && !this.#isLong(queueUs))
      least = Math.min(COMPETITIVE_SHARE * this.#beforeFalls.delivered, this.bytesPerSecond);
    if (this.#falls === 0 && !this.#rivals.areEvident(nowUs)) {
      const allowed = Math.min(rate, Math.max(this.#peak.highest, INITIAL));
      this.#beforeFalls = { delivered: Math.max(this.#mean, delivered), allowed };
    }
    this.#fallTo(delivered, KEPT_SHARE);
    this.bytesPerSecond = Math.max(this.bytesPerSecond, least, LEAST);
    this.#growing = undefined;
    this.#queueSinceUs = nowUs;
    const pausesUntilUs = nowUs + Math.floor(this.#pauseUs(queueUs));
    const test = new QueueTest(arrived, queueUs, delivered);
    this.#drain = new Drain(test, delivery, rate, least, pausesUntilUs);
    this.#round = new Round(nowUs, arrived);
  }

  #goOnDraining(nowUs: number, drain: Drain, arrived: Arrived, queueUs: number): void {
    const { test, delivery, least } = drain;
    if (test.note(arrived, queueUs)) {
      delivery.note(arrived);
      if (delivery.us < DELIVERY_US) return;
      const delivered = this.#shownBy(nowUs, delivery, drain.rate);
      test.delivered = delivered;
      this.#capacity = delivered;
      this.bytesPerSecond = this.#clamp(Math.max(KEPT_SHARE * delivered, least));
      return;
    }
    const isDrained = queueUs <= this.#drainedUs;
    const [shrunkUs, expectedUs] = test.shrunkUs(arrived, queueUs);
    const marginUs = OTHERS_US + OTHERS_NOISES * this.#noise.meanUs;
    const hasLasted = test.lastedUs(arrived) >= this.#pauseUs(test.queueUs);
    const isShorter = shrunkUs >= Math.min(OTHERS_SHARE * expectedUs, expectedUs - marginUs);
    const isOfOthers = !isDrained && hasLasted && !isShorter;
    if (!isDrained && !isOfOthers && !drain.isOver(arrived)) return;
    this.#drain = undefined;
    this.#round = new Round(nowUs, arrived);
    if (!isOfOthers) {
      // A queue that was not much longer before does not show who fills it.
      if (test.queueUs > 2 * this.#drainedUs) this.#falls = 0;
      return;
    }
    this.bytesPerSecond = Math.max(this.bytesPerSecond, COMPETITIVE_SHARE * drain.rate);
    if (this.#rivals.noteDrain(nowUs) >= OTHERS_DRAINS || this.#hasJustEnded(nowUs)) {
      this.#rivals.forgetDrains();
      this.#beginCompeting(nowUs, arrived);
    }
  }

  /** Handles an acknowledgement in competitive mode. The window sets the rate; a trial checks the queue. */
  #watchWindow(
    nowUs: number,
    { window, decisiveWindow, trial }: CompetitiveMode,
    arrived: Arrived,
    queueUs: number,
  ): void {
    window?.sample((nowUs - arrived.sentUs) / 1e6);
    if (decisiveWindow !== undefined) this.bytesPerSecond = this.#clamp(decisiveWindow.rate);
    if (trial === undefined || trial.test.note(arrived, queueUs) || trial.isOwn !== undefined) return;
    const { test } = trial;
    if (!this.#isLong(test.queueUs) || test.lastedUs(arrived) < this.#pauseUs(test.queueUs)) return;
    const [shrunkUs, expectedUs] = test.shrunkUs(arrived, queueUs);
    trial.isOwn = shrunkUs > OWN_SHARE * expectedUs;
  }

  /** The length of a pause that reveals the owner of the queue. */
  #pauseUs(queueUs: number): number {
    return Math.min(PAUSE_US + PAUSE_NOISES * this.#noise.meanUs, Math.max(0, queueUs));
  }

  /** The queueing delay of a drained queue. */
  get #drainedUs(): number {
    return DRAINED_US + this.#queueTargetUs;
  }

  /** Whether a queue is more than an overshoot of the rate. */
  #isLong(queueUs: number): boolean {
    return queueUs > LONG_QUEUE_US + this.#queueTargetUs;
  }

  /** Handles the end of a round, after the next one has begun. */
  #adjust(nowUs: number, round: Round, arrived: Arrived, queueUs: number): void {
    const { span, delivered } = round;
    const { isReliable } = arrived;
    this.queueUs = Math.max(0, round.queueMinUs);
    this.#peak.note(nowUs, delivered);
    this.#mean += Math.min(1, span / MEAN_SECONDS) * (delivered - this.#mean);
    const hasQueue = round.queueMinUs > this.#queueTargetUs;
    this.#queueSinceUs = hasQueue ? (this.#queueSinceUs ?? round.beganUs) : undefined;
    const recovers =
      isReliable && this.#queueSinceUs !== undefined && nowUs - this.#queueSinceUs < RECOVERY_US_MAX;
    if (this.#competitive !== undefined) this.#compete(nowUs, this.#competitive, round, arrived, queueUs);
    else if (this.#drain !== undefined || (!isReliable && this.#police(nowUs, round, hasQueue))) {
      // A drain, the loss of the round, or a test for a policer determines the rate.
    } else if (recovers || round.followsFall) return;
    else if (hasQueue) {
      if (isReliable && this.#isOfOthers(round)) this.#beginCompeting(nowUs, arrived);
      else if (!isReliable && round.wasHeldBack && this.#isLong(round.queueMinUs)) {
        this.#beginDrain(nowUs, arrived, queueUs, Delivery.of(round));
      } else if (round.wasHeldBack) {
        this.#queueSinceUs = nowUs;
        this.#fall(nowUs, round, arrived);
      } else this.#yieldSomewhat();
    } else {
      this.#falls = Math.max(0, this.#falls - 1);
      if (round.wasHeldBack) this.#grow();
    }
    this.bytesPerSecond = this.#clamp(Math.min(this.bytesPerSecond, this.#policer.allowed(nowUs)));
  }

  /** Handles the loss of a round. Returns whether this loss, or a test for a policer, determines the rate. */
  #police(nowUs: number, round: Round, hasQueue: boolean): boolean {
    const verdict = this.#policer.note(nowUs, round, hasQueue, this.bytesPerSecond);
    if (verdict.kind === "test") {
      this.#isStarting = false;
      this.bytesPerSecond = Math.min(this.bytesPerSecond, KEPT_SHARE * verdict.bytesPerSecond);
      if (this.#round !== undefined) this.#round.followsFall = true;
    } else if (verdict.kind === "limit") {
      this.#capacity = verdict.bytesPerSecond;
      // The bucket of the policer passed more for a short time.
      this.#peak = new Peak();
      this.#probes = 0;
    } else if (verdict.kind === "no limit") {
      this.bytesPerSecond = Math.max(this.bytesPerSecond, verdict.bytesPerSecond);
    }
    return verdict.kind !== "none";
  }

  /**
   * Maximum queueing delay without a standing queue. If a single packet takes longer than the usual target, a
   * packet that waits for the previous one is not evidence of a standing queue. More jitter raises the value.
   */
  get #queueTargetUs(): number {
    const packetUs = (PACKET_BYTES_MIN / this.bytesPerSecond) * 1e6;
    const targetUs = Math.min(QUEUE_TARGET_US_MAX, Math.max(QUEUE_TARGET_US, packetUs));
    return targetUs + QUEUE_NOISES * this.#noise.meanUs;
  }

  /** Handles a queue while nothing was held back. It belongs to others, or the peer was slow to read. */
  #yieldSomewhat(): void {
    this.bytesPerSecond = Math.min(this.bytesPerSecond, Math.max(0.9 * this.bytesPerSecond, INITIAL));
  }

  /** Handles a standing queue. A rate below the delivery rate empties it within about a tenth of a second. */
  #fall(nowUs: number, round: Round, arrived: Arrived): void {
    const drain = this.queueUs / 1e6 / (0.1 + round.span);
    const kept = Math.min(KEPT_SHARE, Math.max(0.5, 1 - drain));
    if (this.#round !== undefined) this.#round.followsFall = true;
    if (round.wasMostlyIdle) {
      this.bytesPerSecond *= kept;
      return;
    }
    const { delivered } = round;
    if (this.#falls === 0) this.#beforeFalls = { delivered, allowed: delivered };
    this.#fallTo(delivered, kept);
    // A sender that only yields to senders that fill the queue gets almost no share of the link.
    if (this.#falls > FALLS_MAX) this.#beginCompeting(nowUs, arrived);
  }

  /** Sets the rate to a share of the delivery rate, which is the capacity of the link. */
  #fallTo(delivered: number, kept: number): void {
    this.#isStarting = false;
    this.#falls += FALL;
    this.#probes = 0;
    this.#capacity = delivered;
    this.bytesPerSecond = Math.min(this.bytesPerSecond, kept * delivered);
  }

  /**
   * Whether a long queue stayed although the rate fell before this round, on a carrier that competes by itself: bytes arrive at
   * the rate at which they are sent.
   */
  #isOfOthers(round: Round): boolean {
    const isLower = this.bytesPerSecond < 0.9 * this.#beforeFalls.delivered;
    const hasFallen = this.#falls > 0 && !round.followsFall && isLower;
    const delivered = round.delivered / this.bytesPerSecond;
    const isSteady = delivered >= OTHERS_DELIVERED_MIN && delivered <= OTHERS_DELIVERED_MAX;
    return hasFallen && isSteady && round.wasHeldBack && this.#isLong(round.queueMinUs);
  }

  /** Whether competitive mode ended so recently that the competitors may still be active. */
  #hasJustEnded(nowUs: number): boolean {
    return this.#ended !== undefined && nowUs - this.#ended.atUs < COMPETITIVE_RESUMED_US;
  }

  /** Begins competitive mode, because others fill the queue. */
  #beginCompeting(nowUs: number, { sentUs, isReliable }: Arrived): void {
    // If competitive mode ended recently, it continues with its earlier rate.
    const ended = this.#hasJustEnded(nowUs) ? this.#ended : undefined;
    const before = Math.max(this.#beforeFalls.delivered, ended?.rate ?? 0);
    this.bytesPerSecond = Math.max(this.bytesPerSecond, COMPETITIVE_SHARE * before);
    let window: Window | undefined;
    if (!isReliable) {
      const roundTrip = (nowUs - sentUs) / 1e6;
      const rate = Math.max(this.bytesPerSecond, this.#beforeFalls.allowed);
      ended?.window?.resume(roundTrip);
      window = ended?.window ?? new Window(rate, roundTrip);
      this.bytesPerSecond = this.#clamp(window.rate);
    }
    const lastsUs = ended?.lastsUs ?? COMPETITIVE_FIRST_US;
    this.#competitive = new CompetitiveMode(nowUs, lastsUs, ended === undefined, window);
  }

  /** Ends competitive mode, because no competitor is left. `rate` is the rate that the sender had in competition. */
  #endCompeting(nowUs: number, { window }: CompetitiveMode, rate: number, lastsUs: number): void {
    this.#falls = 0;
    this.#capacity = undefined;
    this.bytesPerSecond = 0.85 * Math.min(rate, this.#peak.highest);
    this.#rivals.see(nowUs);
    this.#ended = { atUs: nowUs, rate, window, lastsUs };
    this.#competitive = undefined;
  }

  /**
   * Handles a round in which others keep the queue full. The rate or the window reacts to loss as other senders do. At
   * intervals the sender pauses, or lowers its rate for a trial. If that empties the queue, no competitor is left.
   */
  #compete(
    nowUs: number,
    competitive: CompetitiveMode,
    round: Round,
    arrived: Arrived,
    queueUs: number,
  ): void {
    const { trial, window } = competitive;
    if (trial !== undefined && trial.pausesUntilUs === undefined) {
      this.#goOnTrying(nowUs, competitive, trial, round);
      return;
    }
    if (trial !== undefined && competitive.judgePause(nowUs, trial)) {
      this.#endCompeting(nowUs, competitive, trial.rate, competitive.lastsUs);
      return;
    }
    competitive.empty = round.queueMinUs > this.#queueTargetUs ? 0 : competitive.empty + 1;
    competitive.hadLongQueue ||= this.#isLong(queueUs);
    if (nowUs >= competitive.untilUs && competitive.trial === undefined) {
      if (window !== undefined && competitive.empty >= EMPTY_ROUNDS) {
        this.#endCompeting(nowUs, competitive, this.bytesPerSecond, competitive.lastsUs);
        return;
      }
      if (window === undefined || !competitive.hadLongQueue || this.#isLong(queueUs)) {
        this.#beginTrial(nowUs, competitive, round, arrived, queueUs);
        return;
      }
    }
    this.#answerToLoss(nowUs, competitive, round, arrived);
  }

  #beginTrial(
    nowUs: number,
    competitive: CompetitiveMode,
    round: Round,
    arrived: Arrived,
    queueUs: number,
  ): void {
    const pauses = competitive.window !== undefined && this.#isLong(queueUs);
    const pausesUntilUs = pauses ? nowUs + Math.floor(this.#pauseUs(queueUs)) : undefined;
    const test = new QueueTest(arrived, queueUs, round.delivered);
    competitive.trial = {
      rate: this.bytesPerSecond,
      rounds: 0,
      empty: 0,
      pausesUntilUs,
      test,
      isOwn: undefined,
    };
    competitive.hadLongQueue = false;
    competitive.empty = 0;
    if (!pauses) this.bytesPerSecond = TRIAL_SHARE * Math.min(this.bytesPerSecond, round.delivered);
  }

  #answerToLoss(nowUs: number, competitive: CompetitiveMode, round: Round, arrived: Arrived): void {
    const { window, isStarting } = competitive;
    // The losses of one overflow are detected in two rounds, but count only once.
    competitive.hasFallen = round.lostBytes > 0 && !competitive.hasFallen;
    if (competitive.hasFallen) {
      if (window === undefined) this.bytesPerSecond *= COMPETITIVE_SHARE;
      else window.shrink();
    } else if (round.wasHeldBack) {
      if (window === undefined)
        this.bytesPerSecond += competitiveGrowth(isStarting, this.bytesPerSecond, round.span);
      else if (isStarting) window.start(this.budget);
      else window.grow((nowUs - round.beganUs) / 1e6, this.budget);
    }
    if (arrived.isReliable) {
      this.bytesPerSecond = Math.min(this.bytesPerSecond, COMPETITIVE_HEADROOM * this.#peak.highest);
    }
    competitive.isStarting &&= round.lostBytes === 0;
  }

  /** Judges a trial: if the lower rate emptied the queue, no competitor is left. */
  #goOnTrying(nowUs: number, competitive: CompetitiveMode, trial: Trial, round: Round): void {
    const { window, isStarting, nextLastsUs } = competitive;
    trial.rounds += 1;
    trial.empty = round.queueMinUs > this.#queueTargetUs ? 0 : trial.empty + 1;
    if (trial.empty === TRIAL_EMPTY || trial.isOwn === true) {
      this.#endCompeting(nowUs, competitive, trial.rate, nextLastsUs);
    } else if (trial.rounds === TRIAL_ROUNDS || (trial.rounds > 1 && trial.isOwn === false)) {
      this.bytesPerSecond = trial.rate;
      this.#competitive = new CompetitiveMode(nowUs, nextLastsUs, isStarting, window);
    }
  }

  /** Raises the rate after a round in which packets were held back and no queue was found. */
  #grow(): void {
    this.bytesPerSecond *= this.#isStarting ? 2 : this.#growth();
  }

  #growth(): number {
    if (this.#capacity === undefined) return 1.25;
    const ratio = this.bytesPerSecond / this.#capacity;
    // A single step does not go beyond the found capacity.
    if (ratio < NEAR_SHARE) return Math.min(1.25, 0.9 / ratio);
    // If the link was faster a short time ago, it may be so again. So each step is twice the last one.
    const isFaster = this.#peak.highest > FASTER * this.#capacity;
    const step = isFaster ? 2 ** Math.min(4, this.#probes) : 1;
    this.#probes += 1;
    if (ratio < SURE_SHARE) return 1 + Math.min(0.25, 0.02 * step);
    return ratio < 1.15 ? 1 + Math.min(0.25, 0.01 * step) : 1.25;
  }

  #clamp(bytesPerSecond: number): number {
    return Math.min(Math.max(bytesPerSecond, LEAST), Math.max(this.budget, LEAST));
  }
}
