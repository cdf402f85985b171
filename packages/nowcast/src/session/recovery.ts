/**
 * Packets in flight: their acknowledgement and loss, round trips, probes, silence and outages (`spec/SESSION.md`, sections 6
 * and 10).
 */
import type { PeerClock } from "./clock.js";
import { SendRate } from "./rate/rate.js";
import { RoundTrip } from "./rtt.js";
import { type Item, type SentPacket, SentPackets } from "./sent.js";
import { Silence } from "./silence.js";
import type { SessionStats } from "./stats.js";

const UNACKNOWLEDGED_SPAN_MAX = 16_384;
/**
 * A silence counts as an outage if it lasts for at least this time, and for at least this many
 * probe time-outs.
 */
const OUTAGE_US_MIN = 1_000_000;
const OUTAGE_PROBES = 3;
/**
 * Maximum bytes sent during a silence, because a peer that was stopped reads all of them before the
 * newest values.
 */
const SILENT_BYTES_MAX = 1_024 * 1_024;
/** The round trip that is assumed before the first sample. */
const ROUND_TRIP_US = 100_000;

/** Maximum time by which a leading event leaves before its turn. */
const LEAD_US = 5_000;

/** The listener that learns whether the items of a packet were acknowledged or lost. */
export interface ItemOwners {
  arrived(packet: SentPacket): void;
  lost(packet: SentPacket): void;
}

export class Recovery {
  /** Whether the next packet must leave regardless of the rate. */
  isProbeDue = false;
  /** Consecutive packets that are not eliciting. */
  quietRun = 0;
  readonly #sent = new SentPackets();
  readonly #stats: SessionStats;
  readonly #owners: ItemOwners;
  #isReliable: boolean;
  #rtt = new RoundTrip();
  #rate: SendRate;
  #silence = new Silence();
  /** Bytes sent since the silence began. */
  #silentBytes = 0;
  /** Packets below this number were sent before an outage ended, so their times are not samples of the path. */
  #informativeFrom = 0;
  /** Whether no packet after the outage has been acknowledged yet. */
  #followsOutage = false;
  #lastElicitingUs: number | undefined;

  constructor(stats: SessionStats, owners: ItemOwners, bytesPerSecondMax: number, isReliable: boolean) {
    this.#stats = stats;
    this.#owners = owners;
    this.#rate = new SendRate(bytesPerSecondMax);
    this.#isReliable = isReliable;
  }

  get nextNumber(): number {
    return this.#sent.nextNumber;
  }

  get rtt(): Readonly<RoundTrip> {
    return this.#rtt;
  }

  get bytesPerSecond(): number {
    return this.#rate.bytesPerSecond;
  }

  /** Maximum size of a packet, unless its first message needs more. */
  get packetBytes(): number {
    return this.#rate.packetBytes(this.#isReliable);
  }

  get inFlightBytes(): number {
    return this.#sent.inFlightBytes;
  }

  /** The time at which the oldest outstanding packet that needs an acknowledgement left. */
  get outSinceUs(): number | undefined {
    return this.#sent.oldest()?.sentUs;
  }

  /** Begins on another carrier: outstanding packets count as lost, and the measurements of the old path are dropped. */
  begin(isReliable: boolean): void {
    this.#isReliable = isReliable;
    this.#rtt = new RoundTrip();
    this.#rate = this.#rate.restarted(0.5);
    this.#silence = new Silence();
    this.#followsOutage = false;
    this.isProbeDue = false;
    for (const packet of this.#sent.takeAll()) this.#owners.lost(packet);
  }

  /** Adds the first sample, from the handshake. */
  sample(roundTripUs: number): void {
    this.#rtt.sample(roundTripUs, 0);
  }

  departed(nowUs: number, bytes: number, isEliciting: boolean, items: readonly Item[]): void {
    this.#sent.push(nowUs, bytes, isEliciting, items);
    const share = this.#silentShare(nowUs);
    this.#silentBytes = share === undefined ? 0 : this.#silentBytes + bytes;
    this.#rate.spend(nowUs, bytes, share, this.#hasRoomInFlight);
    if (!isEliciting) {
      this.quietRun += 1;
      return;
    }
    this.quietRun = 0;
    this.isProbeDue = false;
    this.#lastElicitingUs = nowUs;
    this.#silence.packetLeft(nowUs);
  }

  /**
   * Handles a packet's arrival, before any of its frames takes effect. If it ends an outage, the newest values are sent
   * to the peer at once: at the rate that the session had before the outage, without back-off, and regardless of
   * packets in flight.
   */
  packetReceived(nowUs: number, lastHeardUs: number): void {
    const outageUs = Math.max(OUTAGE_US_MIN, OUTAGE_PROBES * this.#rtt.probeTimeoutUs);
    if (this.#silence.lastedUs(nowUs, lastHeardUs) < outageUs) return;
    this.#silence.acknowledged(nowUs, this.#sent.inFlight);
    this.#sent.writeOffFlight();
    this.#rate = this.#rate.resumed();
    // If every answer takes this long, the path itself is slow, so the next answer is a valid sample.
    if (!this.#followsOutage) this.#informativeFrom = this.#sent.nextNumber;
    this.#followsOutage = true;
  }

  /** Records a packet that needs no acknowledgement. */
  departedLast(nowUs: number, bytes: number): void {
    this.#sent.push(nowUs, bytes, false, []);
  }

  acknowledged(
    nowUs: number,
    ranges: [number, number][],
    delayUs: number,
    leftPeerUs: number,
    clock: PeerClock,
  ): void {
    const acknowledged = this.#sent.acknowledge(ranges);
    this.#rate.found(this.#sent.findMissed(nowUs, ranges));
    for (const packet of acknowledged) {
      this.#stats.packetsAcknowledged += 1;
      this.#owners.arrived(packet);
    }
    const newest = acknowledged[acknowledged.length - 1];
    if (newest?.number === ranges[0]![1]) {
      if (this.#silentShare(nowUs) !== undefined) this.#rate = this.#rate.slowedDown();
      if (newest.number >= this.#informativeFrom)
        this.#learn(nowUs, acknowledged, delayUs, leftPeerUs, clock);
      this.#silence.acknowledged(nowUs, this.#sent.inFlight);
    }
    this.detectLosses(nowUs);
  }

  /** Updates time and rate from acknowledged packets, the newest last. */
  #learn(
    nowUs: number,
    acknowledged: readonly SentPacket[],
    delayUs: number,
    leftPeerUs: number,
    clock: PeerClock,
  ): void {
    const newest = acknowledged[acknowledged.length - 1]!;
    this.#followsOutage = false;
    this.#rtt.sample(Math.floor(nowUs - newest.sentUs), delayUs);
    const arrivedUs = leftPeerUs - delayUs;
    clock.sample(newest.sentUs, arrivedUs, leftPeerUs, nowUs);
    const { number, sentUs, busyPeriod, bytes: packetBytes } = newest;
    const { nextNumber } = this;
    const bytes = acknowledged.reduce((sum, packet) => sum + packet.bytes, 0);
    const isReliable = this.#isReliable;
    this.#rate.acknowledged(nowUs, {
      number,
      nextNumber,
      sentUs,
      arrivedUs,
      packetBytes,
      bytes,
      busyPeriod,
      isReliable,
    });
  }

  detectLosses(nowUs: number): void {
    if (this.#isReliable) return;
    for (const packet of this.#sent.detectLost(nowUs, this.#rtt)) {
      this.#stats.packetsLost += 1;
      if (packet.number >= this.#informativeFrom) this.#rate.lost(packet.bytes);
      this.#owners.lost(packet);
    }
  }

  lossAtUs(): number | undefined {
    return this.#isReliable ? undefined : this.#sent.lossAtUs(this.#rtt);
  }

  probeAtUs(): number | undefined {
    if (this.#isReliable || this.#sent.inFlight === 0) return undefined;
    return this.#silence.probeAtUs(this.#rtt);
  }

  /**
   * Prepares a probe, because no acknowledgement arrived. Returns the oldest items, which the next
   * packet carries.
   */
  probe(nowUs: number): readonly Item[] {
    this.isProbeDue = true;
    this.#silence.probed(nowUs);
    this.#stats.probes += 1;
    return this.#sent.oldest()?.items ?? [];
  }

  keepAliveAtUs(idleTimeoutUs: number, lastHeardUs: number): number {
    return (this.#lastElicitingUs ?? lastHeardUs) + idleTimeoutUs / 3;
  }

  /**
   * The time at which waiting content may leave, with or without a leading event; `undefined` if it
   * waits for an arrival.
   */
  contentAtUs(nowUs: number, leads: boolean): number | undefined {
    if (this.#sent.nextNumber - this.#sent.largestAcknowledged > UNACKNOWLEDGED_SPAN_MAX) return undefined;
    const isSilent = this.#silentShare(nowUs) !== undefined;
    const hasFlight = isSilent
      ? this.#silentBytes < SILENT_BYTES_MAX
      : this.#rate.isDraining || this.#hasRoomInFlight;
    if (hasFlight) return Math.max(nowUs, this.#rate.nextAtUs - (leads ? LEAD_US : 0));
    // From the beginning of a silence on, bytes in flight no longer count.
    return isSilent ? undefined : this.#silence.beginsAtUs(this.#rtt);
  }

  get #hasRoomInFlight(): boolean {
    const { minimumUs, smoothedUs } = this.#rtt;
    const [leastUs, recentUs] = [minimumUs || ROUND_TRIP_US, smoothedUs || ROUND_TRIP_US];
    return this.#sent.inFlightBytes < this.#rate.flightBytesMax(leastUs, recentUs, this.#isReliable);
  }

  /** Records that content is ready but must wait. */
  holdBack(): void {
    this.#rate.holdBack();
  }

  /** The share of the rate to use while the peer is silent. */
  #silentShare(nowUs: number): number | undefined {
    return this.#isReliable ? undefined : this.#silence.share(nowUs, this.#rtt);
  }
}
