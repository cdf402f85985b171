var __defProp = Object.defineProperty;
var __typeError = (msg) => {
  throw TypeError(msg);
};
var __defNormalProp = (obj, key, value) => key in obj ? __defProp(obj, key, { enumerable: true, configurable: true, writable: true, value }) : obj[key] = value;
var __publicField = (obj, key, value) => __defNormalProp(obj, typeof key !== "symbol" ? key + "" : key, value);
var __accessCheck = (obj, member, msg) => member.has(obj) || __typeError("Cannot " + msg);
var __privateGet = (obj, member, getter) => (__accessCheck(obj, member, "read from private field"), getter ? getter.call(obj) : member.get(obj));
var __privateAdd = (obj, member, value) => member.has(obj) ? __typeError("Cannot add the same private member more than once") : member instanceof WeakSet ? member.add(obj) : member.set(obj, value);
var __privateSet = (obj, member, value, setter) => (__accessCheck(obj, member, "write to private field"), setter ? setter.call(obj, value) : member.set(obj, value), value);
var __privateMethod = (obj, member, method) => (__accessCheck(obj, member, "access private method"), method);
var __privateWrapper = (obj, member, setter, getter) => ({
  set _(value) {
    __privateSet(obj, member, value, setter);
  },
  get _() {
    return __privateGet(obj, member, getter);
  }
});
var _link, _deliver, _DatagramTransport_instances, send_fn, _slices, _current, _random, _type, _conditions, _freeAtMs, _lastArrivalMs, _wasLost, _outageUntilMs, _EmulatedLink_instances, lose_fn, arrive_fn, isLost_fn, outageEndMs_fn, _timeline, _link2, _settings, _offset, _view, _PacketReader_instances, shortest_fn, need_fn, _buffer, _view2, _length, _content, _states, _kept, _second, _fallbackUs, _best, _drift, _PeerClock_instances, estimate_fn, _seen, _received, _isNew, _isUrgent, _eliciting, _dueUs, _largestAtUs, _waiting, _nextUs, _commands, _Commands_instances, remove_fn, _waitUs, _config, _notify, _phase, _entropy, _epoch, _Handshake_instances, resumeTimeoutUs_get, ask_fn, beginDetached_fn, judge_fn, awaits_fn, gaveUp_fn, _entries, _total, _first, _Ledger_instances, entry_fn, _bytes, _has, _missing, _limits, _counters, _next, _intervals, _events, _eventParts, _stateParts, _shown, _ledger, _hidden, _taken, _consumed, _reported, _consumedCost, _unreportedSinceUs, _isReportLost, _ReceiveLane_instances, number_fn, checkLength_fn, noteAge_fn, isWanted_fn, isLate_fn, keep_fn, hold_fn, interval_fn, release_fn, consumeHidden_fn, consume_fn, checkWindow_fn, _value, _toSend, _copiesInFlight, _isAcknowledged, _missing2, _wholeBytesMax, _BoundMessage_instances, sendAgain_fn, _keys, _round, _roundStamp, _ledger2, _intervals2, _events2, _eventsToSend, _statesToSend, _slowKeys, _overdue, _number, _stamp, _consumedByPeer, _SendLane_instances, unsettledStates_fn, inOrder_fn, firstStateToSend_fn, canBind_fn, next_fn, needsBarrier_fn, bind_fn, hasRoomFor_fn, bindState_fn, bindEvent_fn, recallWhatGaveWay_fn, sendState_fn, sendEvent_fn, writeEvent_fn, noteSent_fn, stateChanged_fn, eventChanged_fn, interval_fn2, forgetSettled_fn, _queues, _tokens, _filledUs, _Redundancy_instances, hasTokens_fn, _outgoing, _incoming, _turn, _Lanes_instances, classOf_fn, _own, _busyPeriod, _samples, _first2, _leftUs, _packetBytes, _bytes2, _resumedUs, _beganUs, _least, _previous, _beganUs2, _current2, _previous2, _drains, _seenUs, _beganUs3, _current3, _previous3, _last, _before, _samples2, _usualLoss, _block, _suspicion, _test, _limit, _Policer_instances, goOnTesting_fn, confirms_fn, _end, _idleUs, _busyPeriod2, _max, _reno, _elapsed, _untilMax, _roundTrip, _Window_instances, set_fn, _isStarting, _capacity, _falls, _queueSinceUs, _beforeFalls, _growing, _drain, _policer, _usual, _rivals, _probes, _competitive, _ended, _base, _peak, _noise, _round2, _heldBack, _mean, _SendRate_instances, shareAt_fn, linkRate_get, watchQueue_fn, shownBy_fn, beginDrain_fn, goOnDraining_fn, watchWindow_fn, pauseUs_fn, drainedUs_get, isLong_fn, adjust_fn, police_fn, queueTargetUs_get, yieldSomewhat_fn, fall_fn, fallTo_fn, isOfOthers_fn, hasJustEnded_fn, beginCompeting_fn, endCompeting_fn, compete_fn, beginTrial_fn, answerToLoss_fn, goOnTrying_fn, grow_fn, growth_fn, clamp_fn, _heldUs, _outstanding, _next2, _inFlightBytes, _inFlight, _busyPeriod3, _countedFrom, _missed, _overtaking, _overtakenUs, _SentPackets_instances, remove_fn2, _sinceUs, _probedAtUs, _probes2, _sent, _stats, _owners, _isReliable, _rtt, _rate, _silence, _silentBytes, _informativeFrom, _followsOutage, _lastElicitingUs, _Recovery_instances, learn_fn, hasRoomInFlight_get, silentShare_fn, _sources, _unread, _writer, _lanes, _notices, _handshake, _recovery, _acks, _redundancy, _commands2, _carrier, _nextId, _lastHeardUs, _Session_instances, peer_get, put_fn, notify_fn, replied_fn, onHandshake_fn, onHello_fn, onWelcome_fn, onData_fn, onFrame_fn, openTimeout_fn, expire_fn, openDueUs_fn, keepAliveAtUs_get, repeatAtUs_fn, contentAtUs_fn, plannedAtUs_fn, eventLeads_fn, writeData_fn, packetBytesMax_get, sendContext_fn, writeClose_fn, _timeline2, _links, _sessions, _wakesAtUs, _deliver2, _SessionTransport_instances, run_fn, send_fn2, wakeAt_fn, _slowStartUntil, _peak2, _epochUs, _reno2, _timeline3, _transmit, _fixedWindow, _window, _segments, _writtenBytes, _sentBytes, _order, _newestArrived, _newestArrivedSentUs, _recoversUntil, _smoothedUs, _variationUs, _backoff, _hasProbed, _timerAtUs, _TcpSender_instances, inFlight_get, measure_fn, timeoutUs_get, detectLosses_fn, lose_fn2, fill_fn, send_fn3, arm_fn, dueUs_fn, onTimer_fn, _forth, _back, _deliver3, _sender, _writtenBytes2, _messages, _unwritten, _unwrittenEvents, _upTo, _waiting2, _TcpTransport_instances, writeReplaced_fn, write_fn, transmit_fn, receive_fn, next_fn2, _calls, _order2, _Timeline_instances, take_fn, _links2, _settings2, _ticks, _nextTickUs, _nextTurnUs, _Lab_instances, tick_fn, _contestant, _picture, _histogram, _figures, _colour, _title, _moreFigures, _Panel_instances, drawDot_fn, drawHistogram_fn, showFigures_fn, _panels, _time, _pause, _shown2, _settings3, _frame, _lastMs, _figuresAtMs, _bytes3, _rates, _LabView_instances, restart_fn, play_fn, hold_fn2, next_fn3, draw_fn;
import { e as element, c as contextOf, t as themeColour } from "./dom.DpkMfZBc.js";
import { U as UpdatableQueue } from "./lab.C8JcxGro.js";
const STATE_BYTES = 64;
const EVENT_BYTES = 64;
const FRAMING_BYTES = 6;
const TICK_US = 1e6 / 60;
const TICKS_PER_EVENT = 6;
function bytesOf(message) {
  return FRAMING_BYTES + (message.type === "state" ? STATE_BYTES : EVENT_BYTES);
}
const PACKET_BYTES_MAX = 1200;
const DATAGRAM_HEADER_BYTES = 60;
class DatagramTransport {
  constructor(link, deliver) {
    __privateAdd(this, _DatagramTransport_instances);
    /** Events that will never arrive. */
    __publicField(this, "eventsLost", 0);
    __privateAdd(this, _link);
    __privateAdd(this, _deliver);
    __privateSet(this, _link, link);
    __privateSet(this, _deliver, deliver);
  }
  get bytes() {
    return __privateGet(this, _link).bytes;
  }
  put(messages) {
    let packet = [];
    let bytes = 0;
    for (const message of messages) {
      if (bytes + bytesOf(message) > PACKET_BYTES_MAX) {
        __privateMethod(this, _DatagramTransport_instances, send_fn).call(this, packet, bytes);
        [packet, bytes] = [[], 0];
      }
      packet.push(message);
      bytes += bytesOf(message);
    }
    if (packet.length > 0) __privateMethod(this, _DatagramTransport_instances, send_fn).call(this, packet, bytes);
  }
}
_link = new WeakMap();
_deliver = new WeakMap();
_DatagramTransport_instances = new WeakSet();
send_fn = function(packet, bytes) {
  const arrives = __privateGet(this, _link).send(bytes + DATAGRAM_HEADER_BYTES, () => {
    for (const message of packet) __privateGet(this, _deliver).call(this, message);
  });
  if (!arrives) this.eventsLost += packet.filter(({ type }) => type === "event").length;
};
const BIN_MS_MIN = 5;
const BINS_PER_DOUBLING = 4;
const BINS = 48;
const SLICES = 10;
function edgeMs(bin) {
  return BIN_MS_MIN * 2 ** (bin / BINS_PER_DOUBLING);
}
function binOf(ms) {
  const bin = Math.floor(Math.log2(Math.max(ms, BIN_MS_MIN) / BIN_MS_MIN) * BINS_PER_DOUBLING);
  return Math.min(BINS - 1, bin);
}
class Histogram {
  constructor() {
    __privateAdd(this, _slices, Array.from({ length: SLICES }, () => new Uint32Array(BINS)));
    __privateAdd(this, _current, 0);
  }
  add(ms) {
    __privateGet(this, _slices)[__privateGet(this, _current)][binOf(ms)] += 1;
  }
  /** Replaces the oldest slice by a new, empty one. */
  turn() {
    __privateSet(this, _current, (__privateGet(this, _current) + 1) % SLICES);
    __privateGet(this, _slices)[__privateGet(this, _current)].fill(0);
  }
  /** The counts of all bins. */
  counts() {
    const sum = new Uint32Array(BINS);
    for (const slice of __privateGet(this, _slices)) {
      slice.forEach((count, bin) => {
        sum[bin] += count;
      });
    }
    return sum;
  }
  /** The upper edge of the bin with this quantile, in milliseconds; `undefined` without samples. */
  quantileMs(quantile) {
    const counts = this.counts();
    const all = counts.reduce((sum, count) => sum + count, 0);
    if (all === 0) return void 0;
    let below = 0;
    for (let bin = 0; bin < BINS; bin++) {
      below += counts[bin];
      if (below >= all * quantile) return edgeMs(bin + 1);
    }
    return edgeMs(BINS);
  }
}
_slices = new WeakMap();
_current = new WeakMap();
const USUAL$1 = {
  "peer-misbehaved": {
    code: "malformed",
    cure: "use releases of both sides that belong together; if they do, report it"
  },
  "peer-incompatible": { code: "version", cure: "use releases of both sides that belong together" },
  refused: { code: "refused", cure: "ask the operator of the other side" },
  network: { code: "unreachable", cure: "check that the other side runs and that the network is up" },
  misuse: { code: "invalid_argument", cure: "pass the values that the documentation of the call names" }
};
class NowcastError extends Error {
  constructor(fault, reason, details = {}) {
    const message = details.message ?? (details.cure === void 0 ? reason : `${reason}: ${details.cure}`);
    super(message, details.cause === void 0 ? void 0 : { cause: details.cause });
    __publicField(this, "fault");
    __publicField(this, "code");
    /** The failure and its place, in the other side's text if it sent any. Show it as text, never as markup. */
    __publicField(this, "reason");
    /** The advice for the program or the person. */
    __publicField(this, "cure");
    /** The code of the close frame or of the CLOSE that ended the channel, if there was one. */
    __publicField(this, "closeCode");
    this.name = "NowcastError";
    this.fault = fault;
    this.code = details.code ?? USUAL$1[fault].code;
    this.reason = reason;
    this.cure = details.cure ?? USUAL$1[fault].cure;
    this.closeCode = details.closeCode;
  }
}
const QUEUE_BYTES_MAX = 64 * 1024;
const DELAY_MS_MAX = 6e4;
class EmulatedLink {
  constructor(conditions, random, type = { type: "datagrams" }) {
    __privateAdd(this, _EmulatedLink_instances);
    /** Packets that entered the link, and those of them that were lost or dropped. */
    __publicField(this, "packets", 0);
    __publicField(this, "lost", 0);
    /** Bytes that entered the link. */
    __publicField(this, "bytes", 0);
    __privateAdd(this, _random);
    __privateAdd(this, _type);
    __privateAdd(this, _conditions);
    __privateAdd(this, _freeAtMs, 0);
    __privateAdd(this, _lastArrivalMs, 0);
    __privateAdd(this, _wasLost, false);
    __privateAdd(this, _outageUntilMs, Number.NEGATIVE_INFINITY);
    __privateSet(this, _conditions, checkConditions(conditions));
    __privateSet(this, _random, random);
    __privateSet(this, _type, type);
  }
  get conditions() {
    return __privateGet(this, _conditions);
  }
  /** Changes the link for later packets. Packets on their way arrive as decided. */
  set conditions(conditions) {
    __privateSet(this, _conditions, checkConditions(conditions));
  }
  /** Loses all packets until `untilMs`. */
  interrupt(untilMs) {
    __privateSet(this, _outageUntilMs, untilMs);
  }
  /** Bytes that wait before the narrow hop. */
  waitingBytes(nowMs) {
    const { kilobitsPerSecond } = __privateGet(this, _conditions);
    if (kilobitsPerSecond === Number.POSITIVE_INFINITY) return 0;
    return Math.max(0, __privateGet(this, _freeAtMs) - nowMs) * kilobitsPerSecond / 8;
  }
  /** The time at which a packet that is sent now arrives; `undefined` if it is lost. */
  send(nowMs, bytes) {
    const { delayMs, jitterMs, kilobitsPerSecond } = __privateGet(this, _conditions);
    const [fate, jitter] = [__privateGet(this, _random).call(this), __privateGet(this, _random).call(this)];
    const isStream = __privateGet(this, _type).type === "stream";
    this.packets += 1;
    this.bytes += bytes;
    if (!isStream && this.waitingBytes(nowMs) + bytes > QUEUE_BYTES_MAX) return __privateMethod(this, _EmulatedLink_instances, lose_fn).call(this);
    __privateSet(this, _freeAtMs, Math.max(nowMs, __privateGet(this, _freeAtMs)) + bytes * 8 / kilobitsPerSecond);
    const isLost = __privateMethod(this, _EmulatedLink_instances, isLost_fn).call(this, fate);
    const outageEndMs = __privateMethod(this, _EmulatedLink_instances, outageEndMs_fn).call(this, nowMs);
    if (isStream) {
      const resendMs = isLost ? __privateGet(this, _type).resendMs ?? 2 * delayMs + jitterMs + 20 : 0;
      if (isLost) this.lost += 1;
      const leavesMs = Math.max(__privateGet(this, _freeAtMs) + resendMs, outageEndMs);
      return __privateMethod(this, _EmulatedLink_instances, arrive_fn).call(this, leavesMs + delayMs + jitter * jitterMs);
    }
    if (isLost || outageEndMs > nowMs) return __privateMethod(this, _EmulatedLink_instances, lose_fn).call(this);
    return __privateMethod(this, _EmulatedLink_instances, arrive_fn).call(this, __privateGet(this, _freeAtMs) + delayMs + jitter * jitterMs);
  }
}
_random = new WeakMap();
_type = new WeakMap();
_conditions = new WeakMap();
_freeAtMs = new WeakMap();
_lastArrivalMs = new WeakMap();
_wasLost = new WeakMap();
_outageUntilMs = new WeakMap();
_EmulatedLink_instances = new WeakSet();
lose_fn = function() {
  this.lost += 1;
  return void 0;
};
arrive_fn = function(atMs) {
  __privateSet(this, _lastArrivalMs, Math.max(__privateGet(this, _lastArrivalMs), atMs));
  return __privateGet(this, _lastArrivalMs);
};
/** The model of Gilbert: a state in which packets pass, and one in which all are lost. */
isLost_fn = function(fate) {
  const { loss, burst } = __privateGet(this, _conditions);
  if (burst <= 1 || loss >= 1) __privateSet(this, _wasLost, fate < loss);
  else if (__privateGet(this, _wasLost)) __privateSet(this, _wasLost, fate < 1 - 1 / burst);
  else __privateSet(this, _wasLost, fate < loss / (burst * (1 - loss)));
  return __privateGet(this, _wasLost);
};
outageEndMs_fn = function(nowMs) {
  const { outage } = __privateGet(this, _conditions);
  if (outage === void 0) return __privateGet(this, _outageUntilMs);
  const into = nowMs % outage.everyMs;
  const isOut = into >= outage.everyMs - outage.lastsMs;
  return Math.max(__privateGet(this, _outageUntilMs), isOut ? nowMs - into + outage.everyMs : Number.NEGATIVE_INFINITY);
};
function checkConditions(conditions) {
  const { delayMs, jitterMs, loss, burst, kilobitsPerSecond, outage } = conditions;
  const isTime = (ms) => ms >= 0 && ms <= DELAY_MS_MAX;
  const mistake = !isTime(delayMs) || !isTime(jitterMs) ? `delayMs and jitterMs are 0 to ${DELAY_MS_MAX}` : !(loss >= 0 && loss <= 1) ? "loss is a share from 0 to 1" : !(burst >= 1) ? "burst is at least 1" : !(kilobitsPerSecond > 0) ? "kilobitsPerSecond is greater than 0" : outage !== void 0 && !(outage.lastsMs >= 0 && outage.lastsMs < outage.everyMs) ? "an outage is shorter than its interval" : void 0;
  if (mistake === void 0) return conditions;
  throw new NowcastError("misuse", `the conditions of a link are invalid: ${mistake}`, {
    code: "invalid_argument"
  });
}
function createRandom(seed) {
  let state2 = seed >>> 0;
  return () => {
    state2 = state2 + 2654435769 >>> 0;
    let mixed = Math.imul(state2 ^ state2 >>> 16, 569420461);
    mixed = Math.imul(mixed ^ mixed >>> 15, 1935289751);
    return ((mixed ^ mixed >>> 15) >>> 0) / 2 ** 32;
  };
}
class Link {
  constructor(timeline, settings, seed) {
    __privateAdd(this, _timeline);
    __privateAdd(this, _link2);
    __privateAdd(this, _settings);
    __privateSet(this, _timeline, timeline);
    __privateSet(this, _settings, settings);
    __privateSet(this, _link2, new EmulatedLink(conditionsOf(settings), createRandom(seed)));
  }
  get settings() {
    return __privateGet(this, _settings);
  }
  set settings(settings) {
    __privateSet(this, _settings, settings);
    __privateGet(this, _link2).conditions = conditionsOf(settings);
  }
  /** Bytes that entered the link, with headers. */
  get bytes() {
    return __privateGet(this, _link2).bytes;
  }
  /** Sends a packet. Returns false if it will not arrive; a sender must not use that knowledge. */
  send(bytes, deliver) {
    const arrivalMs = __privateGet(this, _link2).send(__privateGet(this, _timeline).nowUs / 1e3, bytes);
    if (arrivalMs === void 0) return false;
    __privateGet(this, _timeline).at(arrivalMs * 1e3, deliver);
    return true;
  }
}
_timeline = new WeakMap();
_link2 = new WeakMap();
_settings = new WeakMap();
function conditionsOf({ roundTripMs, jitterMs, loss, kilobitsPerSecond }) {
  return { delayMs: roundTripMs / 2, jitterMs, loss, burst: 1, kilobitsPerSecond };
}
const UINT64_MAX = 2n ** 64n - 1n;
function toUInt64(value) {
  if (typeof value === "number" ? !Number.isSafeInteger(value) || value < 0 : value < 0n || value > UINT64_MAX) {
    throw new NowcastError("misuse", `${value} is not between 0 and 2^64 - 1`);
  }
  return typeof value === "bigint" && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}
function addUInt64(a, b) {
  if (typeof a === "number" && typeof b === "number" && a + b <= Number.MAX_SAFE_INTEGER) return a + b;
  return toUInt64(BigInt.asUintN(64, BigInt(a) + BigInt(b)));
}
function subtractUInt64(a, b) {
  if (typeof a === "number" && typeof b === "number" && a >= b) return a - b;
  return toUInt64(BigInt.asUintN(64, BigInt(a) - BigInt(b)));
}
class MalformedPacket extends Error {
  constructor(field) {
    super(`malformed packet: ${field}`);
    this.field = field;
  }
}
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
class PacketReader {
  constructor(packet) {
    __privateAdd(this, _PacketReader_instances);
    __privateAdd(this, _offset, 0);
    __privateAdd(this, _view);
    this.packet = packet;
    __privateSet(this, _view, new DataView(packet.buffer, packet.byteOffset, packet.byteLength));
  }
  get left() {
    return this.packet.length - __privateGet(this, _offset);
  }
  u8(field) {
    __privateMethod(this, _PacketReader_instances, need_fn).call(this, 1, field);
    return this.packet[__privateWrapper(this, _offset)._++];
  }
  u16(field) {
    __privateMethod(this, _PacketReader_instances, need_fn).call(this, 2, field);
    __privateSet(this, _offset, __privateGet(this, _offset) + 2);
    return __privateGet(this, _view).getUint16(__privateGet(this, _offset) - 2, true);
  }
  u24(field) {
    __privateMethod(this, _PacketReader_instances, need_fn).call(this, 3, field);
    __privateSet(this, _offset, __privateGet(this, _offset) + 3);
    return __privateGet(this, _view).getUint16(__privateGet(this, _offset) - 3, true) + this.packet[__privateGet(this, _offset) - 1] * 65536;
  }
  u64(field) {
    __privateMethod(this, _PacketReader_instances, need_fn).call(this, 8, field);
    __privateSet(this, _offset, __privateGet(this, _offset) + 8);
    return toUInt64(__privateGet(this, _view).getBigUint64(__privateGet(this, _offset) - 8, true));
  }
  varint(field) {
    let value = 0;
    let scale = 1;
    for (let length = 1; length <= 7; length++) {
      const byte = this.u8(field);
      value += (byte & 127) * scale;
      if (byte < 128) return __privateMethod(this, _PacketReader_instances, shortest_fn).call(this, value, byte, length, field);
      scale *= 128;
    }
    let large = BigInt(value);
    for (let length = 8; length <= 10; length++) {
      const byte = this.u8(field);
      large += BigInt(byte & 127) << BigInt(7 * (length - 1));
      if (large >= 2n ** 64n) break;
      if (byte < 128) return __privateMethod(this, _PacketReader_instances, shortest_fn).call(this, toUInt64(large), byte, length, field);
    }
    throw new MalformedPacket(field);
  }
  /** A varint that is at most `max`. */
  small(field, max, min = 0) {
    const value = this.varint(field);
    if (value < min || value > max) throw new MalformedPacket(field);
    return Number(value);
  }
  /** A number of bytes; a view that is valid as long as the packet. */
  fixed(length, field) {
    __privateMethod(this, _PacketReader_instances, need_fn).call(this, length, field);
    __privateSet(this, _offset, __privateGet(this, _offset) + length);
    return this.packet.subarray(__privateGet(this, _offset) - length, __privateGet(this, _offset));
  }
  /** Reads a length and that many bytes. */
  bytes(field) {
    return this.fixed(this.small(field, this.left), field);
  }
  text(field, bytesMax) {
    const bytes = this.bytes(field);
    if (bytes.length > bytesMax) throw new MalformedPacket(field);
    try {
      return strictUtf8.decode(bytes);
    } catch {
      throw new MalformedPacket(field);
    }
  }
  rest() {
    return this.fixed(this.left, "rest");
  }
}
_offset = new WeakMap();
_view = new WeakMap();
_PacketReader_instances = new WeakSet();
shortest_fn = function(value, last, length, field) {
  if (last === 0 && length > 1) throw new MalformedPacket(field);
  return value;
};
need_fn = function(length, field) {
  if (this.left < length) throw new MalformedPacket(field);
};
const DEFAULT_LIMITS = {
  lanesMax: 8,
  windowBytes: 1048576,
  messageBytesMax: 262144,
  packetBytesMax: 1200,
  idleTimeoutMs: 1e4,
  resumeTimeoutMs: 6e4
};
const LANES_MAX = 16;
const MESSAGE_COST = 64;
const PART_BYTES = 1024;
const PACKET_BYTES_MIN$1 = 1200;
const WINDOW_BYTES_MIN$1 = 16384;
const MESSAGE_BYTES_MIN = 1024;
const IDLE_TIMEOUT_MS_MIN = 100;
function readLimits(reader) {
  const most = Number.MAX_SAFE_INTEGER;
  const limits = {
    lanesMax: reader.small("lanes_max", LANES_MAX, 1),
    windowBytes: reader.small("window_bytes", most, WINDOW_BYTES_MIN$1),
    messageBytesMax: reader.small("message_bytes_max", most, MESSAGE_BYTES_MIN),
    packetBytesMax: reader.small("packet_bytes_max", most, PACKET_BYTES_MIN$1),
    idleTimeoutMs: reader.small("idle_timeout_ms", most, IDLE_TIMEOUT_MS_MIN),
    resumeTimeoutMs: reader.small("resume_timeout_ms", most)
  };
  if (limits.messageBytesMax > limits.windowBytes / 4) throw new MalformedPacket("message_bytes_max");
  return limits;
}
function writeLimits(writer, limits) {
  writer.varint(limits.lanesMax);
  writer.varint(limits.windowBytes);
  writer.varint(limits.messageBytesMax);
  writer.varint(limits.packetBytesMax);
  writer.varint(limits.idleTimeoutMs);
  writer.varint(limits.resumeTimeoutMs);
}
function checkLimits(limits) {
  const { lanesMax, windowBytes, messageBytesMax, packetBytesMax, idleTimeoutMs, resumeTimeoutMs } = limits;
  const most = Number.MAX_SAFE_INTEGER;
  checkLimit("lanesMax", lanesMax, 1, LANES_MAX);
  checkLimit("windowBytes", windowBytes, WINDOW_BYTES_MIN$1, most);
  checkLimit("messageBytesMax", messageBytesMax, MESSAGE_BYTES_MIN, windowBytes / 4);
  checkLimit("packetBytesMax", packetBytesMax, PACKET_BYTES_MIN$1, most);
  checkLimit("idleTimeoutMs", idleTimeoutMs, IDLE_TIMEOUT_MS_MIN, most);
  checkLimit("resumeTimeoutMs", resumeTimeoutMs, 0, most);
}
function checkLimit(name, value, min, max) {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  const bounds = `${min} to ${Math.floor(max)} (spec/SESSION.md, section 9)`;
  throw new NowcastError(
    "misuse",
    `the session's limit ${name} is ${value}, not a whole number from ${bounds}`
  );
}
function checkLane(lane, { lanesMax }) {
  if (Number.isInteger(lane) && lane >= 0 && lane < lanesMax) return;
  throw new NowcastError("misuse", `the peer has no lane ${lane}: it has 0 to ${lanesMax - 1}`);
}
const CARRIER_TRAITS = {
  /** Encrypted datagrams, such as those of WebTransport. */
  datagrams: { isReliable: false, packetBytesMax: 1200 }
};
const DEFAULT_CONFIG = {
  limits: DEFAULT_LIMITS,
  laneClasses: [],
  entriesMax: 65536,
  bytesMax: 16 * 1048576,
  redundancyBitsPerSecond: 64e3,
  bytesPerSecondMax: 4e9,
  handshakeTimeoutMs: 1e4
};
const CloseCode = {
  malformed: 1,
  limitExceeded: 2,
  violation: 3,
  gaveUp: 4,
  version: 5,
  unknownSession: 6,
  wrongToken: 7
};
class PeerFault extends Error {
  constructor(code, reason) {
    super(reason);
    this.code = code;
  }
  static limit(reason) {
    return new PeerFault(CloseCode.limitExceeded, reason);
  }
  static violation(reason) {
    return new PeerFault(CloseCode.violation, reason);
  }
}
const EventKind = { event: 0, command: 1, reply: 2, barrier: 3, expired: 4 };
const FrameType = {
  padding: 0,
  ping: 1,
  proof: 2,
  close: 3,
  states: 16,
  event: 32,
  eventPart: 48,
  statePart: 64,
  window: 80,
  replication: 96
};
const STAMP_END = 2n ** 62n;
const CLOSE_CODE_MAX = 2 ** 32 - 1;
const CLOSE_REASON_BYTES_MAX = 128;
function readFrame(reader) {
  const type = reader.u8("frame type");
  const lane = type & 15;
  switch (type) {
    case FrameType.padding:
      return { type: "padding" };
    case FrameType.ping:
      return { type: "ping" };
    case FrameType.proof:
      return { type: "proof", proof: reader.fixed(8, "proof") };
    case FrameType.close: {
      const code = reader.small("code", CLOSE_CODE_MAX);
      return { type: "close", code, reason: reader.text("reason", CLOSE_REASON_BYTES_MAX) };
    }
  }
  switch (type & 240) {
    case FrameType.states:
      return readStates(reader, lane);
    case FrameType.event: {
      const head = readEventHead(reader, lane);
      const payload = reader.bytes("payload");
      if (head.kind >= EventKind.barrier && payload.length > 0) throw new MalformedPacket("payload");
      return { type: "event", ...head, payload };
    }
    case FrameType.eventPart: {
      const head = readEventHead(reader, lane);
      if (head.kind >= EventKind.barrier) throw new MalformedPacket("kind");
      return { type: "event_part", ...head, ...readPart(reader) };
    }
    case FrameType.statePart: {
      const interval = reader.varint("interval");
      const stamp = readStamp(reader.varint("stamp"), "stamp");
      const key = reader.varint("key");
      if (key === 0) throw new MalformedPacket("key");
      const ageMs = reader.varint("age");
      return { type: "state_part", lane, interval, stamp, key, ageMs, ...readPart(reader) };
    }
    case FrameType.window:
      return { type: "window", lane, consumed: reader.varint("consumed") };
    case FrameType.replication:
      return { type: "replication", lane, payload: reader.bytes("payload") };
    default:
      throw new MalformedPacket("frame type");
  }
}
function readStates(reader, lane) {
  const interval = reader.varint("interval");
  const stamp = reader.varint("stamp");
  const records = [];
  let ended = false;
  while (reader.left > 0 && !ended) {
    const key = reader.varint("key");
    if (key === 0) ended = true;
    else {
      const offset = reader.varint("offset");
      const recordStamp = readStamp(
        typeof offset === "bigint" ? STAMP_END : addUInt64(stamp, offset),
        "offset"
      );
      const ageMs = reader.varint("age");
      records.push({ key, stamp: recordStamp, ageMs, value: reader.bytes("value") });
    }
  }
  if (records.length === 0) throw new MalformedPacket("records");
  return { type: "states", lane, interval, stamp, records, ended };
}
function readStamp(stamp, field) {
  if (stamp === 0 || stamp >= STAMP_END) throw new MalformedPacket(field);
  return stamp;
}
function readEventHead(reader, lane) {
  const number = reader.varint("number");
  const kind = reader.u8("kind");
  if (kind > EventKind.expired) throw new MalformedPacket("kind");
  const before = reader.varint("before");
  const head = { lane, number, kind, before };
  return kind === EventKind.reply ? { ...head, answers: reader.varint("answers") } : head;
}
function readPart(reader) {
  const total = reader.small("total", Number.MAX_SAFE_INTEGER, PART_BYTES + 1);
  const index = reader.small("index", Math.ceil(total / PART_BYTES) - 1);
  const length = Math.min(PART_BYTES, total - index * PART_BYTES);
  return { total, index, part: reader.fixed(length, "part") };
}
const utf8 = new TextEncoder();
function varintLength(value) {
  if (typeof value === "bigint") {
    let length2 = 8;
    for (let rest = value >> 56n; rest > 0n; rest >>= 7n) length2 += 1;
    return length2;
  }
  let length = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) length += 1;
  return length;
}
class PacketWriter {
  constructor(bytesMax) {
    __privateAdd(this, _buffer);
    __privateAdd(this, _view2);
    __privateAdd(this, _length, 0);
    __privateSet(this, _buffer, new Uint8Array(bytesMax));
    __privateSet(this, _view2, new DataView(__privateGet(this, _buffer).buffer));
  }
  get length() {
    return __privateGet(this, _length);
  }
  clear() {
    __privateSet(this, _length, 0);
  }
  /** Returns a copy of the written bytes. */
  finish() {
    return __privateGet(this, _buffer).slice(0, __privateGet(this, _length));
  }
  /** Returns a view of the written bytes. */
  written() {
    return __privateGet(this, _buffer).subarray(0, __privateGet(this, _length));
  }
  u8(value) {
    __privateGet(this, _buffer)[__privateWrapper(this, _length)._++] = value;
  }
  u16(value) {
    __privateGet(this, _view2).setUint16(__privateGet(this, _length), value % 65536, true);
    __privateSet(this, _length, __privateGet(this, _length) + 2);
  }
  u24(value) {
    this.u16(value % 65536);
    this.u8(Math.floor(value / 65536) % 256);
  }
  u32(value) {
    __privateGet(this, _view2).setUint32(__privateGet(this, _length), value, true);
    __privateSet(this, _length, __privateGet(this, _length) + 4);
  }
  u64(value) {
    __privateGet(this, _view2).setBigUint64(__privateGet(this, _length), BigInt(value), true);
    __privateSet(this, _length, __privateGet(this, _length) + 8);
  }
  varint(value) {
    if (typeof value === "number") {
      let rest2 = value;
      for (; rest2 >= 128; rest2 = Math.floor(rest2 / 128)) this.u8(rest2 % 128 | 128);
      this.u8(rest2);
      return;
    }
    let rest = value;
    for (; rest >= 0x80n; rest >>= 7n) this.u8(Number(rest & 0x7fn) | 128);
    this.u8(Number(rest));
  }
  fixed(bytes) {
    __privateGet(this, _buffer).set(bytes, __privateGet(this, _length));
    __privateSet(this, _length, __privateGet(this, _length) + bytes.length);
  }
  bytes(bytes) {
    this.varint(bytes.length);
    this.fixed(bytes);
  }
  text(text, bytesMax) {
    let bytes = utf8.encode(text);
    let end = Math.min(bytes.length, bytesMax);
    while (end < bytes.length && end > 0 && (bytes[end] & 192) === 128) end -= 1;
    bytes = bytes.subarray(0, end);
    this.bytes(bytes);
  }
  zeros(count) {
    __privateGet(this, _buffer).fill(0, __privateGet(this, _length), __privateGet(this, _length) + count);
    __privateSet(this, _length, __privateGet(this, _length) + count);
  }
}
_buffer = new WeakMap();
_view2 = new WeakMap();
_length = new WeakMap();
const OVERHEAD_BYTES_MAX = 176;
class PacketBuilder {
  constructor(writer, bytesMax) {
    /** Whether the peer must acknowledge the packet. */
    __publicField(this, "isEliciting", false);
    /** The offsets at which content starts and ends. The first message may exceed the end. */
    __privateAdd(this, _content);
    __privateAdd(this, _states);
    this.writer = writer;
    this.bytesMax = bytesMax;
  }
  /** Maximum size of a message that is sent whole. Longer messages are sent in parts. */
  get wholeBytesMax() {
    return Math.max(PART_BYTES, this.bytesMax - OVERHEAD_BYTES_MAX);
  }
  get room() {
    const { length } = this.writer;
    const end = __privateGet(this, _content) && length > __privateGet(this, _content).begin ? __privateGet(this, _content).end : this.bytesMax;
    return end - length - (__privateGet(this, _states) ? 1 : 0);
  }
  /** The number of bytes that a divisible frame should fill. */
  get roomToShare() {
    var _a;
    return Math.min(this.room, (((_a = __privateGet(this, _content)) == null ? void 0 : _a.end) ?? this.bytesMax) - this.writer.length);
  }
  /**
   * Begins the content, which ends when the packet has `end` bytes. The first message may exceed
   * this end.
   */
  beginContent(end) {
    __privateSet(this, _content, { begin: this.writer.length, end: Math.min(end, this.bytesMax) });
  }
  /** Adds a frame that is known to fit. */
  frame(frame) {
    if (__privateGet(this, _states)) writeStatesEnd(this.writer);
    __privateSet(this, _states, void 0);
    writeFrame(this.writer, frame);
    this.isEliciting || (this.isEliciting = frame.type !== "padding" && frame.type !== "close");
  }
  /** Adds a record, if there is room for it. */
  state(lane, interval, record) {
    const open = __privateGet(this, _states);
    const goesOn = (open == null ? void 0 : open.lane) === lane && open.interval === interval && record.stamp >= open.stamp;
    const offset = goesOn ? Number(record.stamp) - Number(open.stamp) : 0;
    const head = goesOn ? 0 : 1 + varintLength(interval) + varintLength(record.stamp) + 1;
    const { length } = record.value;
    const body = varintLength(record.key) + varintLength(offset) + varintLength(record.ageMs) + varintLength(length);
    if (head + body + length > this.room) return false;
    if (!goesOn) {
      if (open) writeStatesEnd(this.writer);
      writeStatesHead(this.writer, lane, interval, record.stamp);
      __privateSet(this, _states, { lane, interval, stamp: record.stamp });
    }
    writeStateRecord(this.writer, __privateGet(this, _states).stamp, record);
    this.isEliciting = true;
    return true;
  }
}
_content = new WeakMap();
_states = new WeakMap();
function writeFrame(writer, frame) {
  switch (frame.type) {
    case "padding":
      return writer.u8(FrameType.padding);
    case "ping":
      return writer.u8(FrameType.ping);
    case "proof":
      writer.u8(FrameType.proof);
      return writer.fixed(frame.proof);
    case "close":
      writer.u8(FrameType.close);
      writer.varint(frame.code);
      return writer.text(frame.reason, CLOSE_REASON_BYTES_MAX);
    case "states":
      writeStatesHead(writer, frame.lane, frame.interval, frame.stamp);
      for (const record of frame.records) writeStateRecord(writer, frame.stamp, record);
      if (frame.ended) writeStatesEnd(writer);
      return;
    case "event":
      writer.u8(FrameType.event | frame.lane);
      writeEventHead(writer, frame);
      return writer.bytes(frame.payload);
    case "event_part":
      writer.u8(FrameType.eventPart | frame.lane);
      writeEventHead(writer, frame);
      return writePart(writer, frame);
    case "state_part":
      writer.u8(FrameType.statePart | frame.lane);
      writer.varint(frame.interval);
      writer.varint(frame.stamp);
      writer.varint(frame.key);
      writer.varint(frame.ageMs);
      return writePart(writer, frame);
    case "window":
      writer.u8(FrameType.window | frame.lane);
      return writer.varint(frame.consumed);
    case "replication":
      writer.u8(FrameType.replication | frame.lane);
      return writer.bytes(frame.payload);
  }
}
function writeStatesHead(writer, lane, interval, stamp) {
  writer.u8(FrameType.states | lane);
  writer.varint(interval);
  writer.varint(stamp);
}
function writeStateRecord(writer, frameStamp, record) {
  writer.varint(record.key);
  writer.varint(subtractUInt64(record.stamp, frameStamp));
  writer.varint(record.ageMs);
  writer.bytes(record.value);
}
function writeStatesEnd(writer) {
  writer.u8(0);
}
function writeEventHead(writer, head) {
  writer.varint(head.number);
  writer.u8(head.kind);
  writer.varint(head.before);
  if (head.kind === EventKind.reply) writer.varint(head.answers ?? 0);
}
function writePart(writer, { total, index, part }) {
  writer.varint(total);
  writer.varint(index);
  writer.fixed(part);
}
const VERSION = 1;
const HELLO = 128;
const WELCOME = 129;
const REFUSE = 130;
const MAGIC = Uint8Array.of(78, 79, 87, 67);
const HELLO_BYTES_MIN = 160;
const REFUSE_TEXT_BYTES_MAX = 64;
const RANGES_MAX$1 = 31;
function readPacket(bytes) {
  const reader = new PacketReader(bytes);
  const type = reader.u8("type");
  if (type >= 128) return readHandshake(reader, type);
  const hasRanges = (type & 2) !== 0;
  const hasAck = (type & 1) !== 0;
  if (type > 3 || hasRanges && !hasAck) throw new MalformedPacket("flags");
  const numberLow = reader.u16("number");
  const time = reader.u24("time");
  const ack = hasAck ? readAcknowledgement(reader, hasRanges) : void 0;
  const frames = [];
  while (reader.left > 0) frames.push(readFrame(reader));
  return { type: "data", numberLow, time, ack, frames };
}
function readHandshake(reader, type) {
  switch (type) {
    case HELLO:
      return readHello(reader);
    case WELCOME:
      return readWelcome(reader);
    case REFUSE:
      return readRefuse(reader);
    default:
      throw new MalformedPacket("type");
  }
}
function readNonce(bytes) {
  const reader = new PacketReader(bytes);
  try {
    const isHello = reader.u8("type") === HELLO && reader.fixed(4, "magic").every((byte, at) => byte === MAGIC[at]);
    reader.varint("version_min");
    reader.varint("version_max");
    return isHello ? reader.fixed(8, "nonce") : new Uint8Array(8);
  } catch (error) {
    if (error instanceof MalformedPacket) return new Uint8Array(8);
    throw error;
  }
}
function readHello(reader) {
  const magic = reader.fixed(4, "magic");
  if (magic.some((byte, index) => byte !== MAGIC[index])) throw new MalformedPacket("magic");
  const versionMin = reader.varint("version_min");
  const versionMax = reader.varint("version_max");
  if (versionMin > versionMax) throw new MalformedPacket("version_max");
  const nonce = reader.fixed(8, "nonce");
  const clock = reader.u64("clock");
  const limits = readLimits(reader);
  const resumes = reader.u8("resume");
  if (resumes > 1) throw new MalformedPacket("resume");
  const resume = resumes === 1 ? readTicket(reader) : void 0;
  const isPadded = reader.packet.length >= HELLO_BYTES_MIN && reader.rest().every((byte) => byte === 0);
  if (!isPadded) throw new MalformedPacket("padding");
  return { type: "hello", versionMin, versionMax, nonce, clock, limits, resume };
}
function readTicket(reader) {
  const session = reader.fixed(8, "session");
  const token = reader.fixed(16, "token");
  return { session, token, epoch: reader.varint("epoch") };
}
function readWelcome(reader) {
  const version = reader.varint("version");
  const nonce = reader.fixed(8, "nonce");
  const proof = reader.fixed(8, "proof");
  const ticket = readTicket(reader);
  const helloClock = reader.u64("hello_clock");
  const clock = reader.u64("clock");
  const limits = readLimits(reader);
  requireEnd(reader);
  return { type: "welcome", version, nonce, proof, ...ticket, helloClock, clock, limits };
}
function readRefuse(reader) {
  const nonce = reader.fixed(8, "nonce");
  const code = reader.small("code", 2 ** 32 - 1);
  const versionMin = reader.varint("version_min");
  const versionMax = reader.varint("version_max");
  const text = reader.text("text", REFUSE_TEXT_BYTES_MAX);
  requireEnd(reader);
  return { type: "refuse", nonce, code, versionMin, versionMax, text };
}
function requireEnd(reader) {
  if (reader.left > 0) throw new MalformedPacket("end");
}
function readAcknowledgement(reader, hasRanges) {
  const largestLow = reader.u16("ack largest");
  const delay = reader.varint("ack delay");
  const first = reader.varint("ack first");
  const count = hasRanges ? reader.small("ack count", RANGES_MAX$1, 1) : 0;
  const ranges = [];
  while (ranges.length < count) ranges.push([reader.varint("ack gap"), reader.varint("ack length")]);
  return { largestLow, delay, first, ranges };
}
function writePacket(writer, packet) {
  switch (packet.type) {
    case "hello":
      return writeHello(writer, packet);
    case "welcome":
      return writeWelcome(writer, packet);
    case "refuse":
      return writeRefuse(writer, packet);
    case "data":
      writeDataHead(writer, packet);
      for (const frame of packet.frames) writeFrame(writer, frame);
  }
}
function writeHello(writer, hello) {
  writer.u8(HELLO);
  writer.fixed(MAGIC);
  writer.varint(hello.versionMin);
  writer.varint(hello.versionMax);
  writer.fixed(hello.nonce);
  writer.u64(hello.clock);
  writeLimits(writer, hello.limits);
  writer.u8(hello.resume ? 1 : 0);
  if (hello.resume) writeTicket(writer, hello.resume);
  writer.zeros(Math.max(0, HELLO_BYTES_MIN - writer.length));
}
function writeTicket(writer, ticket) {
  writer.fixed(ticket.session);
  writer.fixed(ticket.token);
  writer.varint(ticket.epoch);
}
function writeWelcome(writer, welcome) {
  writer.u8(WELCOME);
  writer.varint(welcome.version);
  writer.fixed(welcome.nonce);
  writer.fixed(welcome.proof);
  writeTicket(writer, welcome);
  writer.u64(welcome.helloClock);
  writer.u64(welcome.clock);
  writeLimits(writer, welcome.limits);
}
function writeRefuse(writer, refuse) {
  writer.u8(REFUSE);
  writer.fixed(refuse.nonce);
  writer.varint(refuse.code);
  writer.varint(refuse.versionMin);
  writer.varint(refuse.versionMax);
  writer.text(refuse.text, REFUSE_TEXT_BYTES_MAX);
}
function writeDataHead(writer, { numberLow, time, ack }) {
  const hasRanges = ack !== void 0 && ack.ranges.length > 0;
  writer.u8((ack ? 1 : 0) | (hasRanges ? 2 : 0));
  writer.u16(numberLow);
  writer.u24(time);
  if (!ack) return;
  writer.u16(ack.largestLow);
  writer.varint(ack.delay);
  writer.varint(ack.first);
  if (hasRanges) writer.varint(ack.ranges.length);
  for (const [gap, length] of ack.ranges) {
    writer.varint(gap);
    writer.varint(length);
  }
}
const KEPT = 16;
const KEEP_EVERY_US = 1e6;
const SLOPE_TOLERANCE_US = 1e3;
const SLOPE_SPAN_US_MIN = 5e6;
const ROUNDING_US = 1e3;
const DRIFT_MAX = 1e-3;
const WIRE_UNIT_US = 16;
const WIRE_TIME_MODULUS = 2 ** 24;
class PeerClock {
  constructor() {
    __privateAdd(this, _PeerClock_instances);
    __privateAdd(this, _kept, []);
    __privateAdd(this, _second);
    __privateAdd(this, _fallbackUs, 0);
    __privateAdd(this, _best);
    __privateAdd(this, _drift, 0);
  }
  /**
   * Before the first sample, estimates the offset from the time in a packet that arrives. The error
   * of this estimate is the one-way delay.
   */
  guess(nowUs, peerUs) {
    __privateSet(this, _fallbackUs, peerUs - nowUs);
  }
  /**
   * Adds a sample: the time at which we sent, the times at which the peer received and answered by its clock, and the
   * current time. If a clock stood still, for example while a computer slept, the sample contradicts older ones. The
   * older ones are discarded.
   */
  sample(sentUs, arrivedUs, answeredUs, nowUs) {
    const heldUs = Math.max(0, answeredUs - arrivedUs);
    if (heldUs > nowUs - sentUs + ROUNDING_US) return;
    const roundTripUs = Math.max(0, nowUs - sentUs - heldUs);
    const offsetUs = (arrivedUs - sentUs + answeredUs - nowUs) / 2;
    const sample = { atUs: nowUs, offsetUs, roundTripUs };
    __privateSet(this, _kept, __privateGet(this, _kept).filter((older) => agree(older, sample)));
    if (__privateGet(this, _second) && !agree(__privateGet(this, _second), sample)) __privateSet(this, _second, void 0);
    const second = __privateGet(this, _second);
    if (second === void 0 || nowUs - second.atUs >= KEEP_EVERY_US) {
      if (second) __privateGet(this, _kept).push(second);
      if (__privateGet(this, _kept).length > KEPT) __privateGet(this, _kept).shift();
      __privateSet(this, _second, sample);
    } else if (roundTripUs < second.roundTripUs) {
      __privateSet(this, _second, { atUs: second.atUs, offsetUs, roundTripUs });
    }
    __privateMethod(this, _PeerClock_instances, estimate_fn).call(this);
  }
  /** The peer's clock minus ours; `undefined` before the first sample. */
  offsetUs(nowUs) {
    return __privateGet(this, _best) && __privateGet(this, _best).offsetUs + (nowUs - __privateGet(this, _best).atUs) * __privateGet(this, _drift);
  }
  /** The maximum error of the offset. */
  get uncertaintyUs() {
    return __privateGet(this, _best) && __privateGet(this, _best).roundTripUs / 2;
  }
  get driftPpm() {
    return __privateGet(this, _drift) * 1e6;
  }
  /** Returns the peer's full time for the 24-bit time `wire` of a packet that arrived now. */
  unfold(wire, nowUs) {
    const expected = Math.floor((nowUs + (this.offsetUs(nowUs) ?? __privateGet(this, _fallbackUs))) / WIRE_UNIT_US);
    const ahead = modulo(wire - expected, WIRE_TIME_MODULUS);
    const difference = ahead > WIRE_TIME_MODULUS / 2 ? ahead - WIRE_TIME_MODULUS : ahead;
    return (expected + difference) * WIRE_UNIT_US;
  }
  /** Our time at which the peer's clock showed `peerUs`, not after now. */
  toOurs(peerUs, nowUs) {
    return Math.min(nowUs, peerUs - (this.offsetUs(nowUs) ?? __privateGet(this, _fallbackUs)));
  }
}
_kept = new WeakMap();
_second = new WeakMap();
_fallbackUs = new WeakMap();
_best = new WeakMap();
_drift = new WeakMap();
_PeerClock_instances = new WeakSet();
estimate_fn = function() {
  const samples = __privateGet(this, _second) ? [...__privateGet(this, _kept), __privateGet(this, _second)] : __privateGet(this, _kept);
  const best = samples.reduce((least, sample) => sample.roundTripUs < least.roundTripUs ? sample : least);
  __privateSet(this, _best, best);
  const good = samples.filter((sample) => sample.roundTripUs <= best.roundTripUs + SLOPE_TOLERANCE_US);
  const times = good.map((sample) => sample.atUs - best.atUs);
  if (Math.max(...times) - Math.min(...times) < SLOPE_SPAN_US_MIN) return;
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const offsets = good.map((sample) => sample.offsetUs - best.offsetUs);
  const [meanTime, meanOffset] = [mean(times), mean(offsets)];
  const covariance = mean(times.map((time, index) => (time - meanTime) * (offsets[index] - meanOffset)));
  const variance = mean(times.map((time) => (time - meanTime) ** 2));
  if (variance > 0 && Math.abs(covariance / variance) <= DRIFT_MAX) __privateSet(this, _drift, covariance / variance);
};
function agree(older, newer) {
  const errorUs = (older.roundTripUs + newer.roundTripUs) / 2 + ROUNDING_US;
  return Math.abs(newer.offsetUs - older.offsetUs) <= errorUs + DRIFT_MAX * (newer.atUs - older.atUs);
}
function toWireTime(nowUs) {
  return modulo(Math.floor(nowUs / WIRE_UNIT_US), WIRE_TIME_MODULUS);
}
function modulo(value, modulus) {
  return (value % modulus + modulus) % modulus;
}
const NUMBER_SPAN = 65536;
const REMEMBERED = 1024;
const RANGES_MAX = 32;
function unfoldNumber(low, largestReceived) {
  const expected = largestReceived + 1;
  let number = expected - expected % NUMBER_SPAN + low;
  if (number - expected > NUMBER_SPAN / 2) number -= NUMBER_SPAN;
  else if (expected - number >= NUMBER_SPAN / 2) number += NUMBER_SPAN;
  return number < 0 ? number + NUMBER_SPAN : number;
}
function unfoldAcknowledgement(ack, largestSent) {
  const malformed = new MalformedPacket("acknowledges what was never sent");
  const largest = largestSent - ((largestSent - ack.largestLow) % NUMBER_SPAN + NUMBER_SPAN) % NUMBER_SPAN;
  if (largest < 0 || ack.first > largest) throw malformed;
  let low = largest - Number(ack.first);
  const ranges = [[low, largest]];
  for (const [gap, length] of ack.ranges) {
    const high = low - Number(gap) - 2;
    low = high - Number(length);
    if (!(low >= 0)) throw malformed;
    ranges.push([low, high]);
  }
  return ranges;
}
class ReceivedNumbers {
  constructor() {
    __publicField(this, "largest", -1);
    __privateAdd(this, _seen, new Uint8Array(REMEMBERED));
  }
  /** Classifies a packet of this number, without changing anything. */
  judge(number) {
    if (number > this.largest) return "new";
    if (number <= this.largest - REMEMBERED) return "ancient";
    return __privateGet(this, _seen)[number % REMEMBERED] ? "duplicate" : "new";
  }
  /** Records a number. Returns whether it left or changed a gap. */
  add(number) {
    const leavesGap = number > this.largest + 1;
    if (number > this.largest) {
      const from = Math.max(this.largest + 1, number - REMEMBERED + 1);
      for (let between = from; between < number; between++) __privateGet(this, _seen)[between % REMEMBERED] = 0;
      this.largest = number;
    }
    __privateGet(this, _seen)[number % REMEMBERED] = 1;
    return { leavesGap };
  }
  /** The acknowledgement: at most 32 ranges, newest first. */
  acknowledgement(delay) {
    if (this.largest < 0) return void 0;
    const oldest = Math.max(0, this.largest - REMEMBERED + 1);
    const runs = [];
    let number = this.largest;
    while (number >= oldest && runs.length < RANGES_MAX) {
      const high = number;
      while (number >= oldest && __privateGet(this, _seen)[number % REMEMBERED]) number -= 1;
      runs.push([number + 1, high]);
      while (number >= oldest && !__privateGet(this, _seen)[number % REMEMBERED]) number -= 1;
    }
    const ranges = runs.slice(1).map(([low, high], index) => {
      const above = runs[index][0];
      return [above - high - 2, high - low];
    });
    const [first] = runs;
    return { largestLow: this.largest % NUMBER_SPAN, delay, first: first[1] - first[0], ranges };
  }
}
_seen = new WeakMap();
const QUIET_US = 1e6;
class Acknowledger {
  constructor() {
    __privateAdd(this, _received, new ReceivedNumbers());
    __privateAdd(this, _isNew, false);
    __privateAdd(this, _isUrgent, false);
    __privateAdd(this, _eliciting, 0);
    __privateAdd(this, _dueUs);
    __privateAdd(this, _largestAtUs, 0);
  }
  get largest() {
    return __privateGet(this, _received).largest;
  }
  judge(number) {
    return __privateGet(this, _received).judge(number);
  }
  arrived(nowUs, number, isEliciting, isReliable, lastHeardUs) {
    const { leavesGap } = __privateGet(this, _received).add(number);
    if (__privateGet(this, _received).largest === number) __privateSet(this, _largestAtUs, nowUs);
    if (!isEliciting) return;
    const [packets, delayUs] = isReliable ? [16, 2e4] : [4, 5e3];
    __privateSet(this, _isNew, true);
    __privateSet(this, _eliciting, __privateGet(this, _eliciting) + 1);
    __privateGet(this, _isUrgent) || __privateSet(this, _isUrgent, __privateGet(this, _eliciting) >= packets || leavesGap && !isReliable);
    __privateGet(this, _isUrgent) || __privateSet(this, _isUrgent, nowUs - lastHeardUs >= QUIET_US);
    __privateGet(this, _dueUs) ?? __privateSet(this, _dueUs, nowUs + delayUs);
  }
  /** When an acknowledgement must leave, in its own packet if necessary. */
  dueUs(nowUs) {
    return __privateGet(this, _isUrgent) ? nowUs : __privateGet(this, _dueUs);
  }
  /**
   * Returns the acknowledgement for the packet that leaves now, if there is anything new to
   * acknowledge.
   */
  toSend(nowUs) {
    if (!__privateGet(this, _isNew)) return void 0;
    return __privateGet(this, _received).acknowledgement(Math.floor((nowUs - __privateGet(this, _largestAtUs)) / WIRE_UNIT_US));
  }
  sent() {
    __privateSet(this, _isNew, __privateSet(this, _isUrgent, false));
    __privateSet(this, _eliciting, 0);
    __privateSet(this, _dueUs, void 0);
  }
}
_received = new WeakMap();
_isNew = new WeakMap();
_isUrgent = new WeakMap();
_eliciting = new WeakMap();
_dueUs = new WeakMap();
_largestAtUs = new WeakMap();
const COMMANDS_OPEN_MAX = 4096;
class Commands {
  constructor() {
    __privateAdd(this, _Commands_instances);
    /** The waiting commands, by the application's id. */
    __privateAdd(this, _waiting, /* @__PURE__ */ new Map());
    /**
     * The earliest deadline in `#waiting`; `undefined` if nothing waits, or until it is computed
     * again.
     */
    __privateAdd(this, _nextUs);
    /** The application's id, by lane and number. */
    __privateAdd(this, _commands, /* @__PURE__ */ new Map());
  }
  get nextUs() {
    if (__privateGet(this, _nextUs) === void 0 && __privateGet(this, _waiting).size > 0) {
      __privateSet(this, _nextUs, Number.POSITIVE_INFINITY);
      for (const { atUs } of __privateGet(this, _waiting).values()) __privateSet(this, _nextUs, Math.min(__privateGet(this, _nextUs), atUs));
    }
    return __privateGet(this, _nextUs);
  }
  get isFull() {
    return __privateGet(this, _waiting).size >= COMMANDS_OPEN_MAX;
  }
  add(deadline) {
    __privateGet(this, _waiting).set(deadline.id, deadline);
    if (__privateGet(this, _nextUs) !== void 0 || __privateGet(this, _waiting).size === 1) {
      __privateSet(this, _nextUs, Math.min(__privateGet(this, _nextUs) ?? deadline.atUs, deadline.atUs));
    }
  }
  /** Records that a command got its number. */
  numbered(lane, number, id) {
    __privateGet(this, _commands).set(`${lane} ${number}`, id);
  }
  /** The command that a reply answers, if it still waits. */
  answered(lane, number) {
    const name = `${lane} ${number}`;
    const id = __privateGet(this, _commands).get(name);
    __privateGet(this, _commands).delete(name);
    if (id !== void 0) __privateMethod(this, _Commands_instances, remove_fn).call(this, id);
    return id;
  }
  /** Removes and returns the expired commands. */
  takeDue(nowUs) {
    if (this.nextUs === void 0 || this.nextUs > nowUs) return [];
    const due = [...__privateGet(this, _waiting).values()].filter(({ atUs }) => atUs <= nowUs);
    for (const { id } of due) __privateMethod(this, _Commands_instances, remove_fn).call(this, id);
    for (const [name, command] of __privateGet(this, _commands)) {
      if (due.some(({ id }) => id === command)) __privateGet(this, _commands).delete(name);
    }
    return due;
  }
}
_waiting = new WeakMap();
_nextUs = new WeakMap();
_commands = new WeakMap();
_Commands_instances = new WeakSet();
remove_fn = function(id) {
  var _a;
  if (((_a = __privateGet(this, _waiting).get(id)) == null ? void 0 : _a.atUs) === __privateGet(this, _nextUs)) __privateSet(this, _nextUs, void 0);
  __privateGet(this, _waiting).delete(id);
};
function readGauges(stats, recovery, lanes) {
  const { rtt } = recovery;
  const isMeasured = rtt.latestUs !== void 0;
  const known = stats.packetsAcknowledged + stats.packetsLost;
  const { entries, superseded } = lanes.waiting;
  return {
    roundTripUs: isMeasured ? rtt.smoothedUs : void 0,
    roundTripVariationUs: isMeasured ? rtt.variationUs : void 0,
    loss: known === 0 ? 0 : stats.packetsLost / known,
    ageUs: lanes.ageUs,
    bytesPerSecond: recovery.bytesPerSecond,
    inFlightBytes: recovery.inFlightBytes,
    waiting: entries,
    superseded
  };
}
function copyOf(bytes) {
  return new Uint8Array(bytes);
}
const HELLO_WAIT_US_FIRST = 25e4;
const HELLO_WAIT_US_MAX = 2e6;
class HelloAttempt {
  constructor(beganUs, nonce, resume) {
    __publicField(this, "nextUs");
    __privateAdd(this, _waitUs, HELLO_WAIT_US_FIRST);
    this.beganUs = beganUs;
    this.nonce = nonce;
    this.resume = resume;
    this.nextUs = beganUs;
  }
  hello(nowUs, limits) {
    this.nextUs = nowUs + __privateGet(this, _waitUs);
    __privateSet(this, _waitUs, Math.min(__privateGet(this, _waitUs) * 2, HELLO_WAIT_US_MAX));
    const { nonce, resume } = this;
    return { type: "hello", versionMin: VERSION, versionMax: VERSION, nonce, clock: nowUs, limits, resume };
  }
}
_waitUs = new WeakMap();
const CLOSES_MAX = 3;
const CLOSING_US = 3e6;
const ENTROPY_BYTES = 48;
class Handshake {
  constructor(config, entropy, nowUs, role, notify) {
    __privateAdd(this, _Handshake_instances);
    /** The id and the token of the session, once they exist. */
    __publicField(this, "ticket");
    /** The peer's limits; our own until they arrive. */
    __publicField(this, "peer");
    /** The initiator's proof, until a packet with it is acknowledged. */
    __publicField(this, "proof");
    __privateAdd(this, _config);
    __privateAdd(this, _notify);
    __privateAdd(this, _phase);
    __privateAdd(this, _entropy);
    __privateAdd(this, _epoch, 0);
    __privateSet(this, _config, config);
    __privateSet(this, _entropy, checkEntropy(entropy));
    __privateSet(this, _notify, notify);
    this.peer = config.limits;
    __privateSet(this, _phase, role === "acceptor" ? { name: "listening" } : __privateMethod(this, _Handshake_instances, ask_fn).call(this, nowUs, void 0));
  }
  get phase() {
    return __privateGet(this, _phase);
  }
  get isOpen() {
    return __privateGet(this, _phase).name === "open";
  }
  /**
   * Whether packets of the carrier are accepted. This includes a carrier that was silent for too
   * long.
   */
  get isAttached() {
    return __privateGet(this, _phase).name === "detached" ? __privateGet(this, _phase).isAttached : __privateGet(this, _phase).name !== "closed";
  }
  get isClosed() {
    return __privateGet(this, _phase).name === "closing" || __privateGet(this, _phase).name === "closed";
  }
  get idleTimeoutUs() {
    return Math.min(__privateGet(this, _config).limits.idleTimeoutMs, this.peer.idleTimeoutMs) * 1e3;
  }
  /** Attaches a new carrier. An initiator asks to resume on it; an acceptor waits for HELLO. */
  attach(nowUs, entropy, role) {
    if (this.isClosed || this.ticket === void 0)
      throw new NowcastError("misuse", "only a session that was open can be resumed");
    __privateSet(this, _entropy, checkEntropy(entropy));
    this.proof = void 0;
    if (role === "acceptor") {
      __privateSet(this, _phase, { name: "listening" });
      return;
    }
    __privateSet(this, _epoch, Number(__privateGet(this, _epoch)) + 1);
    __privateSet(this, _phase, __privateMethod(this, _Handshake_instances, ask_fn).call(this, nowUs, { ...this.ticket, epoch: __privateGet(this, _epoch) }));
  }
  /** Handles the end of the carrier. */
  detach(nowUs) {
    if (this.isClosed) return;
    if (__privateGet(this, _phase).name === "detached") {
      __privateSet(this, _phase, { ...__privateGet(this, _phase), isAttached: false });
      return;
    }
    if (this.ticket === void 0) {
      const reason = "the carrier ended before the handshake";
      this.end(nowUs, { code: CloseCode.gaveUp, reason, by: "silence" });
      return;
    }
    __privateMethod(this, _Handshake_instances, beginDetached_fn).call(this, nowUs, false);
  }
  /** Regards the carrier of an open session as dead because of its silence. */
  fellSilent(nowUs) {
    __privateMethod(this, _Handshake_instances, beginDetached_fn).call(this, nowUs, true);
  }
  end(nowUs, closed) {
    if (this.isClosed) return;
    const tells = this.isOpen && closed.by === "us";
    __privateGet(this, _notify).call(this, { type: "closed", closed });
    __privateSet(this, _phase, tells ? { name: "closing", closed, isDue: true, left: CLOSES_MAX, untilUs: nowUs + CLOSING_US } : { name: "closed" });
  }
  /** Returns why a HELLO may not resume this session. */
  checkResume(resume) {
    const ticket = this.isClosed ? void 0 : this.ticket;
    if (ticket === void 0 || !equalBytes(ticket.session, resume.session)) {
      return { code: CloseCode.unknownSession, text: "there is no such session here" };
    }
    if (!equalBytes(ticket.token, resume.token) || resume.epoch <= ticket.epoch) {
      return { code: CloseCode.wrongToken, text: "the resume token or epoch is wrong" };
    }
    return void 0;
  }
  /**
   * Handles a HELLO. Returns false if a HELLO is not allowed in this phase, `"accepted"` if it is acceptable and the first
   * on this carrier.
   */
  onHello(hello) {
    const phase = __privateGet(this, _phase);
    if (phase.name === "answered" && equalBytes(phase.hello.nonce, hello.nonce)) {
      phase.hello = { ...phase.hello, clock: hello.clock };
      phase.isAnswerDue = true;
      return "again";
    }
    if (phase.name !== "listening") return "misplaced";
    const refused = __privateMethod(this, _Handshake_instances, judge_fn).call(this, hello);
    if (refused) {
      const ends = this.ticket === void 0;
      __privateSet(this, _phase, { name: "refusing", refuse: refusal(hello.nonce, refused.code, refused.text), ends });
      return "refused";
    }
    this.ticket ?? (this.ticket = { session: __privateGet(this, _entropy).slice(8, 16), token: __privateGet(this, _entropy).slice(16, 32), epoch: 0 });
    if (hello.resume) {
      this.ticket = { ...this.ticket, epoch: hello.resume.epoch };
      __privateSet(this, _epoch, hello.resume.epoch);
    }
    this.peer = hello.limits;
    const kept = { ...hello, nonce: copyOf(hello.nonce) };
    __privateSet(this, _phase, { name: "answered", hello: kept, proof: __privateGet(this, _entropy).slice(32, 40), isAnswerDue: true });
    return "accepted";
  }
  /** Handles a WELCOME. Returns false if no answer to a HELLO is awaited. */
  onWelcome(welcome) {
    const phase = __privateGet(this, _phase);
    if (phase.name !== "connecting" || !equalBytes(phase.attempt.nonce, welcome.nonce)) return false;
    const { session, token, epoch, limits } = welcome;
    if (welcome.version !== VERSION) throw PeerFault.violation("a version that was not offered");
    const resumed = this.ticket !== void 0;
    if (this.ticket) {
      const isSame = equalBytes(this.ticket.session, session) && epoch === __privateGet(this, _epoch);
      if (!isSame || shrinks(this.peer, limits))
        throw PeerFault.violation("another session than the one to resume");
    }
    this.ticket = { session: copyOf(session), token: copyOf(token), epoch };
    this.peer = limits;
    this.proof = { proof: copyOf(welcome.proof), wasSent: false };
    __privateSet(this, _phase, { name: "open" });
    __privateGet(this, _notify).call(this, { type: "opened", resumed });
    return true;
  }
  /**
   * Refuses a peer that is not proven and sent a malformed packet. This is for carriers on which
   * only the peer can be at fault.
   */
  refuseMalformed(packet, field) {
    const phase = __privateGet(this, _phase);
    if (phase.name !== "listening" && phase.name !== "answered") return;
    const isListening = phase.name === "listening";
    const ends = isListening ? this.ticket === void 0 : __privateGet(this, _epoch) === 0;
    const refuse = unreadable(isListening ? readNonce(packet) : phase.hello.nonce, field);
    __privateSet(this, _phase, { name: "refusing", refuse, ends });
  }
  /** Handles a REFUSE. Returns false if no answer is awaited. */
  onRefuse(nowUs, refuse, isTrusted) {
    if (!__privateMethod(this, _Handshake_instances, awaits_fn).call(this, refuse, isTrusted)) return false;
    const { code, versionMin, versionMax, text } = refuse;
    const isVersion = code === CloseCode.version;
    const reason = isVersion ? `the peer speaks versions ${versionMin} to ${versionMax}, we speak ${VERSION}` : text;
    this.end(nowUs, { code, reason, by: "peer" });
    return true;
  }
  /**
   * Checks whether a data packet of a peer that was answered has the proof that the peer receives our packets. Returns
   * whether its data may be accepted.
   */
  onData(frames) {
    const phase = __privateGet(this, _phase);
    if (phase.name === "answered") {
      const proves = (frame) => frame.type === "proof" && equalBytes(phase.proof, frame.proof);
      if (frames.some(proves)) {
        __privateSet(this, _phase, { name: "open" });
        __privateGet(this, _notify).call(this, { type: "opened", resumed: __privateGet(this, _epoch) !== 0 });
      }
    }
    if (phase.name === "detached" && phase.isAttached) {
      __privateSet(this, _phase, { name: "open" });
      __privateGet(this, _notify).call(this, { type: "opened", resumed: true });
    }
    return this.isOpen;
  }
  /** Handles a data packet during closing: sends CLOSE again, unless the peer has sent CLOSE, too. */
  onDataWhileClosing(frames) {
    if (__privateGet(this, _phase).name !== "closing") return;
    __privateGet(this, _phase).isDue = __privateGet(this, _phase).left > 0;
    if (frames.some(({ type }) => type === "close")) __privateSet(this, _phase, { name: "closed" });
  }
  /** Handles the timers of the phases in which the session is not open. */
  handleTimeout(nowUs, lastHeardUs) {
    const phase = __privateGet(this, _phase);
    const handshakeUs = __privateGet(this, _config).handshakeTimeoutMs * 1e3;
    if (phase.name === "connecting" && nowUs - phase.attempt.beganUs >= handshakeUs) __privateMethod(this, _Handshake_instances, gaveUp_fn).call(this, nowUs);
    else if (phase.name === "answered" && nowUs - lastHeardUs >= handshakeUs) __privateMethod(this, _Handshake_instances, gaveUp_fn).call(this, nowUs);
    else if (phase.name === "detached" && nowUs - phase.sinceUs >= __privateGet(this, _Handshake_instances, resumeTimeoutUs_get)) {
      const reason = "no new carrier within the resume time-out";
      this.end(nowUs, { code: CloseCode.gaveUp, reason, by: "silence" });
    } else if (phase.name === "closing" && nowUs >= phase.untilUs) __privateSet(this, _phase, { name: "closed" });
  }
  /** The time at which {@link handleTimeout} or {@link write} is due; `undefined` while the session is open. */
  dueUs(nowUs, lastHeardUs) {
    const phase = __privateGet(this, _phase);
    const handshakeUs = __privateGet(this, _config).handshakeTimeoutMs * 1e3;
    switch (phase.name) {
      case "connecting":
        return Math.min(phase.attempt.nextUs, phase.attempt.beganUs + handshakeUs);
      case "answered":
        return phase.isAnswerDue ? nowUs : lastHeardUs + handshakeUs;
      case "refusing":
        return nowUs;
      case "detached":
        return phase.sinceUs + __privateGet(this, _Handshake_instances, resumeTimeoutUs_get);
      case "closing":
        return phase.isDue && phase.left > 0 ? nowUs : phase.untilUs;
      default:
        return void 0;
    }
  }
  /** Writes the packet of the handshake that is due, if any. */
  write(nowUs, writer) {
    const phase = __privateGet(this, _phase);
    const { limits } = __privateGet(this, _config);
    if (phase.name === "connecting" && nowUs >= phase.attempt.nextUs) {
      writePacket(writer, phase.attempt.hello(Math.floor(nowUs), limits));
      return true;
    }
    if (phase.name === "answered" && phase.isAnswerDue) {
      phase.isAnswerDue = false;
      const { nonce, clock } = phase.hello;
      const shared = { nonce, proof: phase.proof, helloClock: clock, clock: Math.floor(nowUs) };
      writePacket(writer, { type: "welcome", version: VERSION, ...this.ticket, ...shared, limits });
      return true;
    }
    if (phase.name !== "refusing") return false;
    writePacket(writer, phase.refuse);
    if (!phase.ends) __privateMethod(this, _Handshake_instances, beginDetached_fn).call(this, nowUs, false);
    else this.end(nowUs, { code: phase.refuse.code, reason: phase.refuse.text, by: "us" });
    return true;
  }
  /** Returns the content of a CLOSE that is due. After the call the CLOSE is no longer due. */
  takeClose() {
    const phase = __privateGet(this, _phase);
    if (phase.name !== "closing" || !phase.isDue || phase.left === 0) return void 0;
    phase.isDue = false;
    phase.left -= 1;
    return phase.closed;
  }
}
_config = new WeakMap();
_notify = new WeakMap();
_phase = new WeakMap();
_entropy = new WeakMap();
_epoch = new WeakMap();
_Handshake_instances = new WeakSet();
resumeTimeoutUs_get = function() {
  return Math.min(__privateGet(this, _config).limits.resumeTimeoutMs, this.peer.resumeTimeoutMs) * 1e3;
};
ask_fn = function(nowUs, resume) {
  return { name: "connecting", attempt: new HelloAttempt(nowUs, __privateGet(this, _entropy).slice(0, 8), resume) };
};
beginDetached_fn = function(nowUs, isAttached) {
  __privateSet(this, _phase, { name: "detached", sinceUs: nowUs, isAttached });
  __privateGet(this, _notify).call(this, { type: "detached" });
};
judge_fn = function(hello) {
  if (hello.versionMin > VERSION || hello.versionMax < VERSION) {
    return { code: CloseCode.version, text: `this peer speaks version ${VERSION} only` };
  }
  const { resume } = hello;
  if (!this.ticket) {
    return resume && { code: CloseCode.unknownSession, text: "there is no such session here" };
  }
  if (!resume) return { code: CloseCode.wrongToken, text: "the carrier is for a session to resume" };
  const refused = this.checkResume(resume);
  if (refused) return refused;
  return shrinks(this.peer, hello.limits) ? { code: CloseCode.violation, text: "limits shrank" } : void 0;
};
/**
 * Whether a REFUSE is for our HELLO and not too late. `isTrusted` means that only the peer can
 * have sent it.
 */
awaits_fn = function({ nonce }, isTrusted) {
  const isOurs = equalBytes(__privateGet(this, _entropy).subarray(0, 8), nonce);
  if (__privateGet(this, _phase).name === "connecting") return isOurs || isTrusted && nonce.every((byte) => byte === 0);
  return this.isOpen && isTrusted && isOurs && this.proof !== void 0;
};
gaveUp_fn = function(nowUs) {
  if (this.ticket !== void 0 && __privateGet(this, _epoch) !== 0) {
    this.detach(nowUs);
    return;
  }
  const reason = "no answer within the handshake time-out";
  this.end(nowUs, { code: CloseCode.gaveUp, reason, by: "silence" });
};
function refusal(nonce, code, text) {
  return { type: "refuse", nonce: copyOf(nonce), code, versionMin: VERSION, versionMax: VERSION, text };
}
function unreadable(nonce, field) {
  return refusal(nonce, CloseCode.malformed, `malformed ${field}`);
}
function checkEntropy(entropy) {
  if (entropy.length !== ENTROPY_BYTES)
    throw new NowcastError("misuse", `a session needs ${ENTROPY_BYTES} random bytes`);
  return entropy;
}
function equalBytes(a, b) {
  let difference = a.length ^ b.length;
  for (let index = 0; index < a.length; index++) difference |= a[index] ^ (b[index] ?? 0);
  return difference === 0;
}
function shrinks(before, after) {
  return after.lanesMax < before.lanesMax || after.windowBytes < before.windowBytes || after.messageBytesMax < before.messageBytesMax;
}
class Owners {
  constructor(lanes, handshake, replication) {
    this.lanes = lanes;
    this.handshake = handshake;
    this.replication = replication;
  }
  arrived({ number, items }) {
    for (const item of items) {
      if (item.type === "message") item.message.acknowledged(item.part, item.generation);
      else if (item.type === "replication") this.replication.settled(item.lane, number, true);
      else if (item.type === "proof") this.handshake.proof = void 0;
    }
  }
  lost({ number, items }) {
    const { proof } = this.handshake;
    for (const item of items) {
      if (item.type === "message") item.message.lost(item.part, item.generation);
      else if (item.type === "window") this.lanes.windowLost(item.lane, item.consumed);
      else if (item.type === "replication") this.replication.settled(item.lane, number, false);
      else if (proof) proof.wasSent = false;
    }
  }
}
class Ledger {
  constructor() {
    __privateAdd(this, _Ledger_instances);
    __privateAdd(this, _entries, /* @__PURE__ */ new Map());
    __privateAdd(this, _total, 0);
    __privateAdd(this, _first, 0);
  }
  /** The total cost of everything that is not consumed. */
  get total() {
    return __privateGet(this, _total);
  }
  /** The cost of one interval and its event. */
  costOf(number) {
    const entry = __privateGet(this, _entries).get(number);
    return entry === void 0 ? 0 : entry.states + entry.event;
  }
  /** The additional cost of the interval with this value. */
  moreFor(interval, key, bytes) {
    var _a;
    return Math.max(0, bytes + MESSAGE_COST - (((_a = __privateGet(this, _entries).get(interval)) == null ? void 0 : _a.keys.get(key)) ?? 0));
  }
  chargeState(interval, key, bytes) {
    const more = this.moreFor(interval, key, bytes);
    if (more === 0) return;
    const entry = __privateMethod(this, _Ledger_instances, entry_fn).call(this, interval);
    entry.keys.set(key, bytes + MESSAGE_COST);
    entry.states += more;
    __privateSet(this, _total, __privateGet(this, _total) + more);
  }
  chargeEvent(number, bytes) {
    const entry = __privateMethod(this, _Ledger_instances, entry_fn).call(this, number);
    if (entry.event > 0) return;
    entry.event = bytes + MESSAGE_COST;
    __privateSet(this, _total, __privateGet(this, _total) + entry.event);
  }
  /** Removes the cost of everything below this number, which was consumed. */
  forgetBelow(number) {
    for (; __privateGet(this, _first) < number; __privateWrapper(this, _first)._++) {
      __privateSet(this, _total, __privateGet(this, _total) - this.costOf(__privateGet(this, _first)));
      __privateGet(this, _entries).delete(__privateGet(this, _first));
    }
  }
}
_entries = new WeakMap();
_total = new WeakMap();
_first = new WeakMap();
_Ledger_instances = new WeakSet();
entry_fn = function(number) {
  let entry = __privateGet(this, _entries).get(number);
  if (entry === void 0) {
    entry = { keys: /* @__PURE__ */ new Map(), states: 0, event: 0 };
    __privateGet(this, _entries).set(number, entry);
  }
  return entry;
};
class Assembly {
  constructor(head, total) {
    __privateAdd(this, _bytes);
    __privateAdd(this, _has);
    __privateAdd(this, _missing);
    this.head = head;
    this.total = total;
    __privateSet(this, _bytes, new Uint8Array(total));
    __privateSet(this, _missing, Math.ceil(total / PART_BYTES));
    __privateSet(this, _has, new Uint8Array(__privateGet(this, _missing)));
  }
  /** Adds a part. Returns the message when no part is missing. */
  add(head, total, index, part) {
    const agrees = total === this.total && head.every((field, at) => field === this.head[at]);
    if (!agrees) throw PeerFault.violation("parts of one message disagree");
    if (!__privateGet(this, _has)[index]) {
      __privateGet(this, _has)[index] = 1;
      __privateGet(this, _bytes).set(part, index * PART_BYTES);
      __privateSet(this, _missing, __privateGet(this, _missing) - 1);
    }
    return __privateGet(this, _missing) === 0 ? __privateGet(this, _bytes) : void 0;
  }
}
_bytes = new WeakMap();
_has = new WeakMap();
_missing = new WeakMap();
const WINDOW_EVENTS = 256;
const WINDOW_WAIT_US = 1e6;
const AGE_WEIGHT = 16;
class ReceiveLane {
  constructor(limits, counters) {
    __privateAdd(this, _ReceiveLane_instances);
    __privateAdd(this, _limits);
    __privateAdd(this, _counters);
    /** The number of the next event to release. */
    __privateAdd(this, _next, 0);
    __privateAdd(this, _intervals, /* @__PURE__ */ new Map());
    __privateAdd(this, _events, /* @__PURE__ */ new Map());
    __privateAdd(this, _eventParts, /* @__PURE__ */ new Map());
    /** The state of open intervals, by interval and then by key. */
    __privateAdd(this, _stateParts, /* @__PURE__ */ new Map());
    __privateAdd(this, _shown);
    __privateAdd(this, _ledger, new Ledger());
    /**
     * Released events that the application does not get, each as the number of entries that were
     * added to {@link #shown} before it. Such an event is not an entry of {@link #shown}, because it
     * would prevent later values from replacing earlier ones.
     */
    __privateAdd(this, _hidden, []);
    /** Entries that the application has taken. */
    __privateAdd(this, _taken, 0);
    /** The number of events that the application has taken; then the number that the last WINDOW reported. */
    __privateAdd(this, _consumed, 0);
    __privateAdd(this, _reported, 0);
    __privateAdd(this, _consumedCost, 0);
    __privateAdd(this, _unreportedSinceUs);
    __privateAdd(this, _isReportLost, false);
    /** The mean age of the last few states on arrival. */
    __publicField(this, "ageUs");
    __privateSet(this, _limits, limits);
    __privateSet(this, _counters, counters);
    const bounds = { entriesMax: Number.MAX_SAFE_INTEGER, bytesMax: Number.MAX_SAFE_INTEGER };
    __privateSet(this, _shown, new UpdatableQueue(bounds, () => 0));
  }
  get isEmpty() {
    return __privateGet(this, _shown).isEmpty;
  }
  /** Messages that a newer value replaced before the application took them. */
  get superseded() {
    return __privateGet(this, _shown).superseded;
  }
  receiveStates(frame, leftUs, nowUs) {
    const interval = __privateMethod(this, _ReceiveLane_instances, number_fn).call(this, frame.interval);
    for (const { key, stamp, ageMs, value } of frame.records) {
      __privateMethod(this, _ReceiveLane_instances, checkLength_fn).call(this, value.length);
      if (!__privateMethod(this, _ReceiveLane_instances, isWanted_fn).call(this, interval, key, stamp)) continue;
      __privateGet(this, _ledger).chargeState(interval, key, value.length);
      __privateMethod(this, _ReceiveLane_instances, checkWindow_fn).call(this);
      __privateMethod(this, _ReceiveLane_instances, keep_fn).call(this, interval, stamp, state(key, copyOf(value), ageMs, leftUs));
      __privateMethod(this, _ReceiveLane_instances, noteAge_fn).call(this, nowUs - leftUs + Number(ageMs) * 1e3);
    }
    __privateMethod(this, _ReceiveLane_instances, release_fn).call(this, nowUs);
  }
  receiveStatePart(frame, leftUs, nowUs) {
    var _a;
    const interval = __privateMethod(this, _ReceiveLane_instances, number_fn).call(this, frame.interval);
    const { key, stamp } = frame;
    __privateMethod(this, _ReceiveLane_instances, checkLength_fn).call(this, frame.total);
    const pending = (_a = __privateGet(this, _stateParts).get(interval)) == null ? void 0 : _a.get(key);
    const isOlder = pending !== void 0 && stamp < pending.stamp;
    if (isOlder) __privateGet(this, _counters).stale += 1;
    if (isOlder || !__privateMethod(this, _ReceiveLane_instances, isWanted_fn).call(this, interval, key, stamp)) return;
    __privateGet(this, _ledger).chargeState(interval, key, frame.total);
    __privateMethod(this, _ReceiveLane_instances, checkWindow_fn).call(this);
    const head = [frame.interval, stamp, key];
    const assembly = (pending == null ? void 0 : pending.stamp) === stamp ? pending.assembly : new Assembly(head, frame.total);
    const value = assembly.add(head, frame.total, frame.index, frame.part);
    const ofInterval = __privateGet(this, _stateParts).get(interval) ?? /* @__PURE__ */ new Map();
    if (value === void 0) {
      __privateGet(this, _stateParts).set(interval, ofInterval.set(key, { stamp, assembly }));
      return;
    }
    ofInterval.delete(key);
    __privateMethod(this, _ReceiveLane_instances, keep_fn).call(this, interval, stamp, state(key, value, frame.ageMs, leftUs));
    __privateMethod(this, _ReceiveLane_instances, noteAge_fn).call(this, nowUs - leftUs + Number(frame.ageMs) * 1e3);
    __privateMethod(this, _ReceiveLane_instances, release_fn).call(this, nowUs);
  }
  receiveEvent(frame, nowUs) {
    const number = __privateMethod(this, _ReceiveLane_instances, number_fn).call(this, frame.number);
    __privateMethod(this, _ReceiveLane_instances, checkLength_fn).call(this, frame.payload.length);
    if (__privateMethod(this, _ReceiveLane_instances, isLate_fn).call(this, number)) return;
    __privateGet(this, _ledger).chargeEvent(number, frame.payload.length);
    __privateMethod(this, _ReceiveLane_instances, checkWindow_fn).call(this);
    __privateGet(this, _eventParts).delete(number);
    __privateMethod(this, _ReceiveLane_instances, hold_fn).call(this, number, frame, copyOf(frame.payload), nowUs);
  }
  receiveEventPart(frame, nowUs) {
    const number = __privateMethod(this, _ReceiveLane_instances, number_fn).call(this, frame.number);
    __privateMethod(this, _ReceiveLane_instances, checkLength_fn).call(this, frame.total);
    if (__privateMethod(this, _ReceiveLane_instances, isLate_fn).call(this, number)) return;
    __privateGet(this, _ledger).chargeEvent(number, frame.total);
    __privateMethod(this, _ReceiveLane_instances, checkWindow_fn).call(this);
    const head = [frame.number, frame.kind, frame.before, frame.answers ?? -1];
    const assembly = __privateGet(this, _eventParts).get(number) ?? new Assembly(head, frame.total);
    const value = assembly.add(head, frame.total, frame.index, frame.part);
    if (value === void 0) {
      __privateGet(this, _eventParts).set(number, assembly);
      return;
    }
    __privateGet(this, _eventParts).delete(number);
    __privateMethod(this, _ReceiveLane_instances, hold_fn).call(this, number, frame, value, nowUs);
  }
  /** The next message for the application. */
  take(nowUs) {
    const entry = __privateGet(this, _shown).pop();
    if (entry === void 0) return void 0;
    __privateSet(this, _taken, __privateGet(this, _taken) + 1);
    if (entry.kind === "event") __privateMethod(this, _ReceiveLane_instances, consume_fn).call(this, nowUs);
    __privateMethod(this, _ReceiveLane_instances, consumeHidden_fn).call(this, nowUs);
    return entry.value;
  }
  /** The next message, if it is the reply to a command. */
  takeReply(nowUs) {
    var _a;
    const next = (_a = __privateGet(this, _shown).peek()) == null ? void 0 : _a.value;
    if ((next == null ? void 0 : next.type) !== "event" || next.kind !== EventKind.reply) return void 0;
    this.take(nowUs);
    return next;
  }
  /** The time at which a WINDOW must leave. */
  windowDueUs(nowUs) {
    if (__privateGet(this, _unreportedSinceUs) === void 0 && !__privateGet(this, _isReportLost)) return void 0;
    const isMuch = __privateGet(this, _consumedCost) * 8 >= __privateGet(this, _limits).windowBytes || __privateGet(this, _consumed) - __privateGet(this, _reported) >= WINDOW_EVENTS;
    if (isMuch || __privateGet(this, _isReportLost)) return nowUs;
    return __privateGet(this, _unreportedSinceUs) + WINDOW_WAIT_US;
  }
  /** Returns the contents of a WINDOW, if one is needed. */
  windowToReport() {
    return __privateGet(this, _consumed) > __privateGet(this, _reported) || __privateGet(this, _isReportLost) ? __privateGet(this, _consumed) : void 0;
  }
  windowSent() {
    __privateGet(this, _ledger).forgetBelow(__privateGet(this, _consumed));
    __privateSet(this, _reported, __privateGet(this, _consumed));
    __privateSet(this, _consumedCost, 0);
    __privateSet(this, _unreportedSinceUs, void 0);
    __privateSet(this, _isReportLost, false);
  }
  /**
   * Handles the loss of a packet with this WINDOW. The WINDOW is sent again, unless a later one was
   * sent.
   */
  windowLost(consumed) {
    if (consumed === __privateGet(this, _reported)) __privateSet(this, _isReportLost, true);
  }
}
_limits = new WeakMap();
_counters = new WeakMap();
_next = new WeakMap();
_intervals = new WeakMap();
_events = new WeakMap();
_eventParts = new WeakMap();
_stateParts = new WeakMap();
_shown = new WeakMap();
_ledger = new WeakMap();
_hidden = new WeakMap();
_taken = new WeakMap();
_consumed = new WeakMap();
_reported = new WeakMap();
_consumedCost = new WeakMap();
_unreportedSinceUs = new WeakMap();
_isReportLost = new WeakMap();
_ReceiveLane_instances = new WeakSet();
/** Checks an event number or interval against the window. */
number_fn = function(value) {
  if (value > __privateGet(this, _reported) + __privateGet(this, _limits).windowBytes / MESSAGE_COST) {
    throw PeerFault.limit("an event number or interval beyond the window");
  }
  return Number(value);
};
checkLength_fn = function(length) {
  if (length > __privateGet(this, _limits).messageBytesMax)
    throw PeerFault.limit("a message larger than message_bytes_max");
};
noteAge_fn = function(ageUs) {
  const before = this.ageUs ?? ageUs;
  this.ageUs = before + (Math.max(0, ageUs) - before) / AGE_WEIGHT;
};
isWanted_fn = function(interval, key, stamp) {
  var _a;
  const kept = (_a = __privateGet(this, _intervals).get(interval)) == null ? void 0 : _a.stamps.get(key);
  if (interval >= __privateGet(this, _next) && (kept === void 0 || stamp > kept)) return true;
  __privateGet(this, _counters).stale += 1;
  return false;
};
isLate_fn = function(number) {
  const isLate = number < __privateGet(this, _next) || __privateGet(this, _events).has(number);
  if (isLate) __privateGet(this, _counters).late += 1;
  return isLate;
};
keep_fn = function(number, stamp, value) {
  const interval = __privateMethod(this, _ReceiveLane_instances, interval_fn).call(this, number);
  const { key } = value;
  interval.sum = addUInt64(subtractUInt64(interval.sum, interval.stamps.get(key) ?? 0), stamp);
  interval.stamps.set(key, stamp);
  const parts = __privateGet(this, _stateParts).get(number);
  const pending = parts == null ? void 0 : parts.get(key);
  if (pending !== void 0 && stamp >= pending.stamp) parts == null ? void 0 : parts.delete(key);
  if (number === __privateGet(this, _next)) __privateGet(this, _shown).putState(key, value);
  else interval.held.set(key, value);
  const event = __privateGet(this, _events).get(number);
  if (event !== void 0 && interval.sum > event.before) {
    throw PeerFault.violation("the sum of stamps exceeds that of the event");
  }
};
hold_fn = function(number, frame, value, nowUs) {
  var _a;
  const sum = ((_a = __privateGet(this, _intervals).get(number)) == null ? void 0 : _a.sum) ?? 0;
  if (sum > frame.before) throw PeerFault.violation("the sum of stamps exceeds that of the event");
  const answers = frame.answers === void 0 ? void 0 : Number(frame.answers);
  const { kind, before } = frame;
  __privateGet(this, _events).set(number, { type: "event", number, kind, answers, before, value });
  __privateMethod(this, _ReceiveLane_instances, release_fn).call(this, nowUs);
};
interval_fn = function(number) {
  let interval = __privateGet(this, _intervals).get(number);
  if (interval === void 0) {
    interval = { stamps: /* @__PURE__ */ new Map(), sum: 0, held: /* @__PURE__ */ new Map() };
    __privateGet(this, _intervals).set(number, interval);
  }
  return interval;
};
/** Rule 3 of section 8. */
release_fn = function(nowUs) {
  var _a;
  for (; ; ) {
    const event = __privateGet(this, _events).get(__privateGet(this, _next));
    if (event === void 0 || event.before !== (((_a = __privateGet(this, _intervals).get(__privateGet(this, _next))) == null ? void 0 : _a.sum) ?? 0)) break;
    if (isHidden(event)) __privateGet(this, _hidden).push(__privateGet(this, _taken) + __privateGet(this, _shown).entries);
    else __privateGet(this, _shown).putEvent(event);
    __privateGet(this, _events).delete(__privateGet(this, _next));
    __privateGet(this, _intervals).delete(__privateGet(this, _next));
    __privateGet(this, _stateParts).delete(__privateGet(this, _next));
    __privateSet(this, _next, __privateGet(this, _next) + 1);
    const opened = __privateGet(this, _intervals).get(__privateGet(this, _next));
    for (const value of (opened == null ? void 0 : opened.held.values()) ?? []) __privateGet(this, _shown).putState(value.key, value);
    opened == null ? void 0 : opened.held.clear();
  }
  __privateMethod(this, _ReceiveLane_instances, consumeHidden_fn).call(this, nowUs);
};
/**
 * An event that the application does not get counts as consumed as soon as all messages released
 * before it are consumed.
 */
consumeHidden_fn = function(nowUs) {
  while (__privateGet(this, _hidden).length > 0 && __privateGet(this, _hidden)[0] <= __privateGet(this, _taken)) {
    __privateGet(this, _hidden).shift();
    __privateMethod(this, _ReceiveLane_instances, consume_fn).call(this, nowUs);
  }
};
consume_fn = function(nowUs) {
  __privateSet(this, _consumedCost, __privateGet(this, _consumedCost) + __privateGet(this, _ledger).costOf(__privateGet(this, _consumed)));
  __privateSet(this, _consumed, __privateGet(this, _consumed) + 1);
  __privateGet(this, _unreportedSinceUs) ?? __privateSet(this, _unreportedSinceUs, nowUs);
};
checkWindow_fn = function() {
  if (__privateGet(this, _ledger).total > __privateGet(this, _limits).windowBytes)
    throw PeerFault.limit("more than window_bytes on a lane");
};
function isHidden({ kind }) {
  return kind === EventKind.barrier || kind === EventKind.expired;
}
function state(key, value, ageMs, leftUs) {
  return { type: "state", key, value, producedAtUs: leftUs - Number(ageMs) * 1e3 };
}
class BoundMessage {
  constructor(value, wholeBytesMax, onChange) {
    __privateAdd(this, _BoundMessage_instances);
    /** A version number. It grows when the message is turned into another one, for example when a command expires. */
    __publicField(this, "generation", 0);
    __privateAdd(this, _value);
    /** Parts to send, in order. */
    __privateAdd(this, _toSend, []);
    __privateAdd(this, _copiesInFlight);
    __privateAdd(this, _isAcknowledged);
    __privateAdd(this, _missing2);
    __privateAdd(this, _wholeBytesMax);
    this.onChange = onChange;
    __privateSet(this, _wholeBytesMax, wholeBytesMax);
    __privateSet(this, _value, value);
    const parts = this.parts;
    __privateSet(this, _copiesInFlight, new Uint8Array(parts));
    __privateSet(this, _isAcknowledged, new Uint8Array(parts));
    __privateSet(this, _missing2, parts);
    for (let part = 0; part < parts; part++) __privateGet(this, _toSend).push(part);
  }
  get value() {
    return __privateGet(this, _value);
  }
  get isWhole() {
    return __privateGet(this, _value).length <= __privateGet(this, _wholeBytesMax);
  }
  get parts() {
    return this.isWhole ? 1 : Math.ceil(__privateGet(this, _value).length / PART_BYTES);
  }
  get isArrived() {
    return __privateGet(this, _missing2) === 0;
  }
  get wantsSending() {
    return __privateGet(this, _toSend).length > 0;
  }
  /**
   * On a carrier with smaller packets, a message that was sent whole may have to be sent in parts.
   */
  fitInto(wholeBytesMax) {
    if (!this.isWhole || __privateGet(this, _value).length <= wholeBytesMax) return;
    __privateSet(this, _wholeBytesMax, wholeBytesMax);
    this.generation += 1;
    const parts = this.parts;
    __privateSet(this, _toSend, Array.from({ length: parts }, (_, part) => part));
    __privateSet(this, _copiesInFlight, new Uint8Array(parts));
    __privateSet(this, _isAcknowledged, new Uint8Array(parts));
    __privateSet(this, _missing2, parts);
  }
  nextPart() {
    return __privateGet(this, _toSend)[0];
  }
  partBytes(part) {
    return __privateGet(this, _value).subarray(part * PART_BYTES, (part + 1) * PART_BYTES);
  }
  sent(part) {
    if (__privateGet(this, _toSend)[0] === part) __privateGet(this, _toSend).shift();
    if (__privateGet(this, _copiesInFlight)[part] < 255) __privateGet(this, _copiesInFlight)[part] += 1;
  }
  acknowledged(part, generation) {
    if (generation !== this.generation && this.parts > 1) return;
    if (__privateGet(this, _isAcknowledged)[part]) return;
    __privateGet(this, _isAcknowledged)[part] = 1;
    __privateSet(this, _missing2, __privateGet(this, _missing2) - 1);
    __privateSet(this, _toSend, __privateGet(this, _toSend).filter((waiting) => waiting !== part));
    this.onChange(this);
  }
  lost(part, generation) {
    if (generation !== this.generation || __privateGet(this, _isAcknowledged)[part]) return;
    __privateGet(this, _copiesInFlight)[part] -= 1;
    if (__privateGet(this, _copiesInFlight)[part] === 0) __privateMethod(this, _BoundMessage_instances, sendAgain_fn).call(this, part);
  }
  /** A probe carries this part, or the first missing one, regardless of packets in flight. */
  probe(part = __privateGet(this, _isAcknowledged).indexOf(0), generation = this.generation) {
    if (part < 0 || generation !== this.generation || __privateGet(this, _isAcknowledged)[part]) return;
    __privateMethod(this, _BoundMessage_instances, sendAgain_fn).call(this, part);
  }
  /** Turns the message into another one, which was never sent. */
  restart(value) {
    this.generation += 1;
    __privateSet(this, _value, value);
    __privateSet(this, _toSend, [0]);
    __privateSet(this, _copiesInFlight, new Uint8Array(1));
    __privateSet(this, _isAcknowledged, new Uint8Array(1));
    __privateSet(this, _missing2, 1);
    this.onChange(this);
  }
}
_value = new WeakMap();
_toSend = new WeakMap();
_copiesInFlight = new WeakMap();
_isAcknowledged = new WeakMap();
_missing2 = new WeakMap();
_wholeBytesMax = new WeakMap();
_BoundMessage_instances = new WeakSet();
sendAgain_fn = function(part) {
  if (!__privateGet(this, _toSend).includes(part)) __privateGet(this, _toSend).push(part);
  this.onChange(this);
};
class BoundState extends BoundMessage {
  constructor(interval, key, stamp, value, producedAtUs, history, wholeBytesMax, onChange) {
    super(value, wholeBytesMax, (message) => onChange(message));
    this.interval = interval;
    this.key = key;
    this.stamp = stamp;
    this.producedAtUs = producedAtUs;
    this.history = history;
  }
}
class BoundEvent extends BoundMessage {
  constructor(id, number, kind, before, answers, value, wholeBytesMax, onChange) {
    super(value, wholeBytesMax, (message) => onChange(message));
    __publicField(this, "kind");
    this.id = id;
    this.number = number;
    this.before = before;
    this.answers = answers;
    this.kind = kind;
  }
  expire() {
    this.kind = 4;
    this.restart(new Uint8Array(0));
  }
}
const OVERDUE_LOSSES = 2;
const OVERDUE_ARRIVALS = 16;
const OVERDUE_MAX = 256;
class KeyHistory {
  constructor(key, arrived) {
    /** Values lost in a row, at most {@link OVERDUE_LOSSES}. */
    __publicField(this, "losses", 0);
    /** Values that arrived in a row while the key is overdue. */
    __publicField(this, "arrivals", 0);
    this.key = key;
    this.arrived = arrived;
  }
}
class OverdueKeys {
  constructor() {
    __privateAdd(this, _keys, /* @__PURE__ */ new Set());
    /** The keys that waited at the beginning of the present round and have not left the queue. */
    __privateAdd(this, _round, /* @__PURE__ */ new Set());
    /** The first stamp of the round. */
    __privateAdd(this, _roundStamp, 0);
  }
  arrived(history, stamp) {
    if (stamp <= history.arrived) return;
    history.arrived = stamp;
    if (history.losses < OVERDUE_LOSSES) {
      history.losses = 0;
      return;
    }
    history.arrivals += 1;
    if (history.arrivals < OVERDUE_ARRIVALS) return;
    history.losses = 0;
    history.arrivals = 0;
    __privateGet(this, _keys).delete(history);
  }
  lost(history, stamp) {
    if (stamp <= history.arrived) return;
    history.losses = Math.min(OVERDUE_LOSSES, history.losses + 1);
    if (history.losses < OVERDUE_LOSSES) return;
    history.arrivals = 0;
    if (__privateGet(this, _keys).size < OVERDUE_MAX) __privateGet(this, _keys).add(history);
  }
  /** Records that a value of the key left the queue. */
  bound(key) {
    __privateGet(this, _round).delete(key);
  }
  /** Forgets all keys, because the interval was closed. */
  clear() {
    __privateGet(this, _keys).clear();
    __privateGet(this, _round).clear();
  }
  /**
   * Returns the keys that go ahead. The key whose last arrived value left first comes first. A key goes ahead once in a round,
   * which lasts until all keys that waited at its beginning were served.
   */
  goAhead(waiting, nextStamp, lastStampOf) {
    if (__privateGet(this, _keys).size === 0) return [];
    if (__privateGet(this, _round).size === 0) {
      __privateSet(this, _roundStamp, nextStamp);
      for (const key of waiting) __privateGet(this, _round).add(key);
    }
    return [...__privateGet(this, _keys)].filter(({ key }) => lastStampOf(key) < __privateGet(this, _roundStamp)).sort((a, b) => a.arrived - b.arrived).map(({ key }) => key);
  }
}
_keys = new WeakMap();
_round = new WeakMap();
_roundStamp = new WeakMap();
const FRAME_BYTES_MAX = 64;
class SendLane {
  constructor(lane, bounds) {
    __privateAdd(this, _SendLane_instances);
    /** The messages that wait for a packet. */
    __publicField(this, "queue");
    __privateAdd(this, _ledger2, new Ledger());
    __privateAdd(this, _intervals2, /* @__PURE__ */ new Map());
    __privateAdd(this, _events2, /* @__PURE__ */ new Map());
    __privateAdd(this, _eventsToSend, /* @__PURE__ */ new Set());
    __privateAdd(this, _statesToSend, /* @__PURE__ */ new Set());
    /**
     * Keys with a value in parts that has not arrived completely. Until it has, no newer value of the
     * key is bound.
     */
    __privateAdd(this, _slowKeys, /* @__PURE__ */ new Map());
    __privateAdd(this, _overdue, new OverdueKeys());
    /** The number of the next event, which is also the number of the open interval. */
    __privateAdd(this, _number, 0);
    __privateAdd(this, _stamp, 0);
    __privateAdd(this, _consumedByPeer, 0);
    this.lane = lane;
    this.queue = new UpdatableQueue(bounds, ({ value }) => value.length);
  }
  /** Whether everything that was put is known to have arrived. */
  get isSettled() {
    return this.queue.isEmpty && __privateGet(this, _events2).size === 0 && __privateMethod(this, _SendLane_instances, unsettledStates_fn).call(this) === 0;
  }
  /** Handles a WINDOW: the peer's application has taken the events below this number. */
  windowReceived(consumed) {
    if (consumed > __privateGet(this, _number)) throw PeerFault.violation("a WINDOW beyond the events sent");
    __privateSet(this, _consumedByPeer, Math.max(__privateGet(this, _consumedByPeer), Number(consumed)));
    __privateGet(this, _ledger2).forgetBelow(__privateGet(this, _consumedByPeer));
  }
  /** Whether this lane has content that a packet could carry now. */
  hasMore(limits) {
    return __privateGet(this, _eventsToSend).size > 0 || __privateMethod(this, _SendLane_instances, firstStateToSend_fn).call(this) !== void 0 || __privateMethod(this, _SendLane_instances, canBind_fn).call(this, limits, __privateMethod(this, _SendLane_instances, next_fn).call(this));
  }
  /** Whether the first message is an unsent event of at most this many bytes. */
  leadsWithEvent(bytesMax) {
    if (__privateGet(this, _eventsToSend).size > 0 || __privateGet(this, _statesToSend).size > 0 || __privateGet(this, _slowKeys).size > 0) return false;
    const next = __privateMethod(this, _SendLane_instances, next_fn).call(this);
    return (next == null ? void 0 : next.kind) === "event" && next.value.value.length <= bytesMax;
  }
  /**
   * Fills a packet with lost events first, then with archived and lost states, then with the states of overdue keys, then with
   * the queue in order.
   */
  fill(context, limits) {
    for (const event of __privateMethod(this, _SendLane_instances, inOrder_fn).call(this)) if (!__privateMethod(this, _SendLane_instances, sendEvent_fn).call(this, event, context)) return;
    for (let state2 = __privateMethod(this, _SendLane_instances, firstStateToSend_fn).call(this); state2 !== void 0; state2 = __privateMethod(this, _SendLane_instances, firstStateToSend_fn).call(this)) {
      if (!__privateMethod(this, _SendLane_instances, sendState_fn).call(this, state2, context)) return;
    }
    const lastStampOf = (key) => {
      var _a, _b;
      return ((_b = (_a = __privateGet(this, _intervals2).get(__privateGet(this, _number))) == null ? void 0 : _a.last.get(key)) == null ? void 0 : _b.stamp) ?? 0;
    };
    for (const key of __privateGet(this, _overdue).goAhead(this.queue.firstKeys(), __privateGet(this, _stamp) + 1, lastStampOf)) {
      const next = __privateGet(this, _slowKeys).has(key) ? void 0 : this.queue.peekState(key);
      if (next === void 0) continue;
      if (!__privateMethod(this, _SendLane_instances, canBind_fn).call(this, limits, next) || !__privateMethod(this, _SendLane_instances, bind_fn).call(this, next, context, limits)) return;
    }
    for (let next = __privateMethod(this, _SendLane_instances, next_fn).call(this); next !== void 0 && __privateMethod(this, _SendLane_instances, canBind_fn).call(this, limits, next); next = __privateMethod(this, _SendLane_instances, next_fn).call(this)) {
      if (!__privateMethod(this, _SendLane_instances, bind_fn).call(this, next, context, limits)) return;
    }
  }
  /** Repeats an event if it is still needed. */
  repeat(number, context) {
    const event = __privateGet(this, _events2).get(number);
    if (event === void 0 || !event.isWhole || event.wantsSending) return 0;
    const before = context.builder.room;
    if (before < event.value.length + FRAME_BYTES_MAX) return 0;
    __privateMethod(this, _SendLane_instances, writeEvent_fn).call(this, event, 0, context);
    context.counters.resent += 1;
    return before - context.builder.room;
  }
  canRepeat(number) {
    const event = __privateGet(this, _events2).get(number);
    return (event == null ? void 0 : event.isWhole) === true && !event.wantsSending;
  }
  /** Puts the oldest unacknowledged events into a probe. */
  probe(eventsMax) {
    let left = eventsMax;
    for (const event of __privateGet(this, _events2).values()) {
      if (left-- === 0) return;
      event.probe();
    }
  }
  /** Withdraws a command whose deadline has passed. */
  expire(id) {
    if (this.queue.removeEvent((pending) => "id" in pending && pending.id === id)) return;
    for (const event of __privateGet(this, _events2).values()) if (event.id === id) event.expire();
  }
}
_ledger2 = new WeakMap();
_intervals2 = new WeakMap();
_events2 = new WeakMap();
_eventsToSend = new WeakMap();
_statesToSend = new WeakMap();
_slowKeys = new WeakMap();
_overdue = new WeakMap();
_number = new WeakMap();
_stamp = new WeakMap();
_consumedByPeer = new WeakMap();
_SendLane_instances = new WeakSet();
unsettledStates_fn = function() {
  let unsettled = 0;
  for (const { last } of __privateGet(this, _intervals2).values()) {
    for (const state2 of last.values()) if (!state2.isArrived) unsettled += 1;
  }
  return unsettled;
};
inOrder_fn = function* () {
  if (__privateGet(this, _eventsToSend).size > 1) {
    const ordered = [...__privateGet(this, _eventsToSend)].sort((a, b) => a.number - b.number);
    __privateGet(this, _eventsToSend).clear();
    for (const event of ordered) __privateGet(this, _eventsToSend).add(event);
  }
  yield* __privateGet(this, _eventsToSend);
};
/** Returns the first state to send again. States whose newer value leaves soon are skipped. */
firstStateToSend_fn = function() {
  for (const state2 of __privateGet(this, _statesToSend)) {
    const isReplaced = state2.interval === __privateGet(this, _number) && state2.isWhole && this.queue.peekState(state2.key) !== void 0;
    if (isReplaced) __privateGet(this, _statesToSend).delete(state2);
    else return state2;
  }
  return void 0;
};
/**
 * Whether the next message may be bound: the peer's window must have room, and no value in parts
 * may block it.
 */
canBind_fn = function(limits, next) {
  if (next === void 0) return false;
  if (next.kind === "event")
    return __privateGet(this, _ledger2).total + next.value.value.length + MESSAGE_COST <= limits.windowBytes;
  const more = __privateGet(this, _ledger2).moreFor(__privateGet(this, _number), next.key, next.value.value.length);
  const barrier = __privateMethod(this, _SendLane_instances, needsBarrier_fn).call(this, more, limits) ? MESSAGE_COST : 0;
  return __privateGet(this, _ledger2).total + more + barrier <= limits.windowBytes;
};
next_fn = function() {
  return this.queue.peekUnless((key) => __privateGet(this, _slowKeys).has(key));
};
needsBarrier_fn = function(more, limits) {
  const open = __privateGet(this, _ledger2).costOf(__privateGet(this, _number));
  return open > 0 && more > 0 && open + more > limits.windowBytes / 2;
};
/** Binds the next message, or the waiting state of another key. */
bind_fn = function(next, context, limits) {
  if (next.kind === "event") {
    if (!__privateMethod(this, _SendLane_instances, hasRoomFor_fn).call(this, next.value.value.length, context)) return false;
    this.queue.pop();
    const { id, kind, answers, value: value2 } = next.value;
    return __privateMethod(this, _SendLane_instances, bindEvent_fn).call(this, id, kind, answers, value2, context);
  }
  const { value, producedAtUs } = next.value;
  if (!__privateMethod(this, _SendLane_instances, hasRoomFor_fn).call(this, value.length, context)) return false;
  if (__privateMethod(this, _SendLane_instances, needsBarrier_fn).call(this, __privateGet(this, _ledger2).moreFor(__privateGet(this, _number), next.key, value.length), limits)) {
    __privateMethod(this, _SendLane_instances, bindEvent_fn).call(this, void 0, EventKind.barrier, void 0, new Uint8Array(0), context);
    return true;
  }
  this.queue.takeState(next.key);
  return __privateMethod(this, _SendLane_instances, sendState_fn).call(this, __privateMethod(this, _SendLane_instances, bindState_fn).call(this, next.key, value, producedAtUs, context), context);
};
hasRoomFor_fn = function(bytes, { builder }) {
  const needed = bytes <= builder.wholeBytesMax ? bytes : 1024;
  return builder.room >= needed + FRAME_BYTES_MAX;
};
bindState_fn = function(key, value, producedAtUs, context) {
  const interval = __privateMethod(this, _SendLane_instances, interval_fn2).call(this, __privateGet(this, _number));
  __privateGet(this, _ledger2).chargeState(__privateGet(this, _number), key, value.length);
  __privateSet(this, _stamp, __privateGet(this, _stamp) + 1);
  __privateGet(this, _overdue).bound(key);
  const superseded = interval.last.get(key);
  const history = (superseded == null ? void 0 : superseded.history) ?? new KeyHistory(key, __privateGet(this, _stamp) - 1);
  const onChange = (changed) => __privateMethod(this, _SendLane_instances, stateChanged_fn).call(this, changed);
  const state2 = new BoundState(
    __privateGet(this, _number),
    key,
    __privateGet(this, _stamp),
    value,
    producedAtUs,
    history,
    context.builder.wholeBytesMax,
    onChange
  );
  if (superseded) {
    __privateGet(this, _statesToSend).delete(superseded);
    interval.sum = subtractUInt64(interval.sum, superseded.stamp);
  }
  interval.last.set(key, state2);
  interval.sum = addUInt64(interval.sum, state2.stamp);
  __privateGet(this, _statesToSend).add(state2);
  context.counters.statesSent += 1;
  return state2;
};
bindEvent_fn = function(id, kind, answers, value, context) {
  var _a;
  const number = __privateGet(this, _number);
  const before = ((_a = __privateGet(this, _intervals2).get(number)) == null ? void 0 : _a.sum) ?? 0;
  __privateGet(this, _ledger2).chargeEvent(number, value.length);
  if (kind === EventKind.barrier) __privateMethod(this, _SendLane_instances, recallWhatGaveWay_fn).call(this, number);
  const onChange = (changed) => __privateMethod(this, _SendLane_instances, eventChanged_fn).call(this, changed);
  const event = new BoundEvent(
    id,
    number,
    kind,
    before,
    answers,
    value,
    context.builder.wholeBytesMax,
    onChange
  );
  __privateGet(this, _events2).set(number, event);
  __privateGet(this, _eventsToSend).add(event);
  __privateSet(this, _number, __privateGet(this, _number) + 1);
  __privateGet(this, _overdue).clear();
  for (const [key, slow] of __privateGet(this, _slowKeys)) if (slow.interval < __privateGet(this, _number)) __privateGet(this, _slowKeys).delete(key);
  __privateMethod(this, _SendLane_instances, forgetSettled_fn).call(this, number);
  context.counters.eventsSent += 1;
  const wasSent = __privateMethod(this, _SendLane_instances, sendEvent_fn).call(this, event, context);
  context.onBound(this.lane, event);
  return wasSent;
};
/**
 * Handles a barrier that closes the open interval although newer values wait. Lost values that were not sent again
 * because of the newer ones are now the last of their interval, so they are sent again. The peer cannot release the
 * barrier without them.
 */
recallWhatGaveWay_fn = function(number) {
  var _a;
  for (const state2 of ((_a = __privateGet(this, _intervals2).get(number)) == null ? void 0 : _a.last.values()) ?? []) {
    if (state2.wantsSending) __privateGet(this, _statesToSend).add(state2);
  }
};
sendState_fn = function(state2, context) {
  const { builder, nowUs } = context;
  const ageMs = Math.max(0, Math.floor((nowUs - state2.producedAtUs) / 1e3));
  const { key, stamp, interval, value } = state2;
  state2.fitInto(context.builder.wholeBytesMax);
  if (!state2.isWhole && interval === __privateGet(this, _number)) __privateGet(this, _slowKeys).set(key, state2);
  while (state2.wantsSending) {
    const part = state2.nextPart();
    if (state2.isWhole) {
      if (!builder.state(this.lane, interval, { key, stamp, ageMs, value })) return false;
    } else {
      const bytes = state2.partBytes(part);
      if (builder.room < bytes.length + FRAME_BYTES_MAX) return false;
      const tail = { total: value.length, index: part, part: bytes };
      builder.frame({ type: "state_part", lane: this.lane, interval, stamp, key, ageMs, ...tail });
    }
    __privateMethod(this, _SendLane_instances, noteSent_fn).call(this, state2, part, context);
  }
  __privateGet(this, _statesToSend).delete(state2);
  return true;
};
sendEvent_fn = function(event, context) {
  event.fitInto(context.builder.wholeBytesMax);
  while (event.wantsSending) {
    const part = event.nextPart();
    const bytes = event.isWhole ? event.value.length : event.partBytes(part).length;
    if (context.builder.room < bytes + FRAME_BYTES_MAX) return false;
    __privateMethod(this, _SendLane_instances, writeEvent_fn).call(this, event, part, context);
  }
  __privateGet(this, _eventsToSend).delete(event);
  return true;
};
writeEvent_fn = function(event, part, context) {
  const { number, kind, before, answers, value } = event;
  const head = { lane: this.lane, number, kind, before, ...answers === void 0 ? {} : { answers } };
  if (event.isWhole) context.builder.frame({ type: "event", ...head, payload: value });
  else {
    const tail = { total: value.length, index: part, part: event.partBytes(part) };
    context.builder.frame({ type: "event_part", ...head, ...tail });
  }
  __privateMethod(this, _SendLane_instances, noteSent_fn).call(this, event, part, context);
};
noteSent_fn = function(message, part, { items }) {
  message.sent(part);
  items.push({ type: "message", message, generation: message.generation, part });
};
stateChanged_fn = function(state2) {
  var _a;
  if (state2.isWhole && state2.interval === __privateGet(this, _number)) {
    if (state2.isArrived) __privateGet(this, _overdue).arrived(state2.history, state2.stamp);
    else __privateGet(this, _overdue).lost(state2.history, state2.stamp);
  }
  const isLast = ((_a = __privateGet(this, _intervals2).get(state2.interval)) == null ? void 0 : _a.last.get(state2.key)) === state2;
  if (state2.isArrived) {
    if (__privateGet(this, _slowKeys).get(state2.key) === state2) __privateGet(this, _slowKeys).delete(state2.key);
    __privateGet(this, _statesToSend).delete(state2);
    if (isLast) __privateMethod(this, _SendLane_instances, forgetSettled_fn).call(this, state2.interval);
  } else if (isLast) __privateGet(this, _statesToSend).add(state2);
};
eventChanged_fn = function(event) {
  if (event.isArrived) {
    __privateGet(this, _events2).delete(event.number);
    __privateGet(this, _eventsToSend).delete(event);
  } else if (event.wantsSending) __privateGet(this, _eventsToSend).add(event);
};
interval_fn2 = function(number) {
  let interval = __privateGet(this, _intervals2).get(number);
  if (interval === void 0) {
    interval = { last: /* @__PURE__ */ new Map(), sum: 0 };
    __privateGet(this, _intervals2).set(number, interval);
  }
  return interval;
};
/** Forgets a closed interval whose last values all arrived. */
forgetSettled_fn = function(number) {
  const interval = __privateGet(this, _intervals2).get(number);
  if (interval === void 0 || number >= __privateGet(this, _number)) return;
  for (const state2 of interval.last.values()) if (!state2.isArrived) return;
  __privateGet(this, _intervals2).delete(number);
};
const REPEAT_BYTES_MAX = 256;
const LEADING_BYTES = REPEAT_BYTES_MAX + 64;
const LEADING_COST = 80;
const WAITS_US = [2e3, 12e3, 3e4, 6e4];
const BUCKET_SECONDS = 0.5;
class Redundancy {
  constructor(bytesPerSecond) {
    __privateAdd(this, _Redundancy_instances);
    __privateAdd(this, _queues, WAITS_US.map(() => []));
    __privateAdd(this, _tokens);
    __privateAdd(this, _filledUs);
    this.bytesPerSecond = bytesPerSecond;
    __privateSet(this, _tokens, bytesPerSecond * BUCKET_SECONDS);
  }
  /** Records that an event left for the first time. */
  bound(nowUs, lane, { number, value }) {
    if (value.length > REPEAT_BYTES_MAX || this.bytesPerSecond === 0) return;
    __privateGet(this, _queues).forEach((queue, turn) => {
      queue.push({ atUs: nowUs + WAITS_US[turn], lane, number });
    });
  }
  /** The time at which an event that was not repeated yet gets its own packet. */
  dueUs(nowUs, isWanted) {
    const queue = __privateGet(this, _queues)[0];
    for (let first = queue[0]; first !== void 0; first = queue[0]) {
      if (isWanted(first.lane, first.number) && (first.atUs > nowUs || __privateMethod(this, _Redundancy_instances, hasTokens_fn).call(this, nowUs)))
        return first.atUs;
      queue.shift();
    }
    return void 0;
  }
  /**
   * Repeats due events in the packet that leaves now, as the budget allows. `repeat` returns the
   * number of bytes used.
   */
  repeat(nowUs, hasRoom, repeat) {
    for (const [turn, queue] of __privateGet(this, _queues).entries()) {
      const kept = turn === 0 ? 0 : this.bytesPerSecond * BUCKET_SECONDS / 2;
      for (let first = queue[0]; first !== void 0 && first.atUs <= nowUs; first = queue[0]) {
        if (!hasRoom()) return;
        queue.shift();
        if (__privateMethod(this, _Redundancy_instances, hasTokens_fn).call(this, nowUs, kept)) __privateSet(this, _tokens, __privateGet(this, _tokens) - repeat(first.lane, first.number));
      }
    }
  }
  /**
   * Whether an event may leave before its turn. Half of the budget must remain for first
   * repetitions.
   */
  canLead(nowUs) {
    return __privateMethod(this, _Redundancy_instances, hasTokens_fn).call(this, nowUs, this.bytesPerSecond * BUCKET_SECONDS / 2);
  }
  /** Charges the budget for a packet that leaves only because of an event. */
  led() {
    __privateSet(this, _tokens, __privateGet(this, _tokens) - LEADING_COST);
  }
  forget() {
    for (const queue of __privateGet(this, _queues)) queue.length = 0;
  }
}
_queues = new WeakMap();
_tokens = new WeakMap();
_filledUs = new WeakMap();
_Redundancy_instances = new WeakSet();
hasTokens_fn = function(nowUs, kept = 0) {
  const elapsed = (nowUs - (__privateGet(this, _filledUs) ?? nowUs)) / 1e6;
  __privateSet(this, _filledUs, nowUs);
  __privateSet(this, _tokens, Math.min(
    this.bytesPerSecond * BUCKET_SECONDS,
    __privateGet(this, _tokens) + elapsed * this.bytesPerSecond
  ));
  return __privateGet(this, _tokens) > kept;
};
function earliest(times) {
  let least;
  for (const time of times) if (time !== void 0 && (least === void 0 || time < least)) least = time;
  return least;
}
const PROBE_EVENTS = 16;
class Lanes {
  constructor(config, stats) {
    __privateAdd(this, _Lanes_instances);
    __privateAdd(this, _outgoing, []);
    __privateAdd(this, _incoming, []);
    __privateAdd(this, _turn, 0);
    this.config = config;
    this.stats = stats;
  }
  /** Whether everything that was put is known to have arrived. */
  get isSettled() {
    return __privateGet(this, _outgoing).every((lane) => lane === void 0 || lane.isSettled);
  }
  /** The lane to put into, if the peer accepts this many lanes. */
  sending(lane, peer) {
    checkLane(lane, peer);
    let sendLane = __privateGet(this, _outgoing)[lane];
    if (sendLane === void 0) {
      const { entriesMax, bytesMax } = this.config;
      sendLane = new SendLane(lane, { entriesMax, bytesMax });
      __privateGet(this, _outgoing)[lane] = sendLane;
    }
    return sendLane;
  }
  /** The lane to which a frame belongs. */
  receiving(lane) {
    if (lane >= this.config.limits.lanesMax) throw PeerFault.limit("a lane beyond lanes_max");
    let receiveLane = __privateGet(this, _incoming)[lane];
    if (receiveLane === void 0) {
      receiveLane = new ReceiveLane(this.config.limits, this.stats.dropped);
      __privateGet(this, _incoming)[lane] = receiveLane;
    }
    return receiveLane;
  }
  /** The next message for the application, and its lane: of all lanes, or of those that are wanted. */
  take(nowUs, isWanted) {
    for (const [lane, receiveLane] of __privateGet(this, _incoming).entries()) {
      const message = (isWanted == null ? void 0 : isWanted(lane)) === false ? void 0 : receiveLane == null ? void 0 : receiveLane.take(nowUs);
      if (message) return { lane, message };
    }
    return void 0;
  }
  /** The next message for the application, with its lane, if it is a reply. */
  takeReply(nowUs) {
    for (const [lane, receiveLane] of __privateGet(this, _incoming).entries()) {
      const reply = receiveLane == null ? void 0 : receiveLane.takeReply(nowUs);
      if (reply) return { lane, reply };
    }
    return void 0;
  }
  /** Values that were replaced before they left, and waiting messages. */
  get waiting() {
    let [entries, superseded] = [0, 0];
    for (const lane of __privateGet(this, _outgoing)) {
      entries += (lane == null ? void 0 : lane.queue.entries) ?? 0;
      superseded += (lane == null ? void 0 : lane.queue.superseded) ?? 0;
    }
    return { entries, superseded };
  }
  /** Average age of the peer's newest states on arrival (µs). */
  get ageUs() {
    return earliest(__privateGet(this, _incoming).map((lane) => lane == null ? void 0 : lane.ageUs));
  }
  windowReceived(lane, consumed, peer) {
    if (lane >= peer.lanesMax) throw PeerFault.limit("a lane beyond lanes_max");
    const sendLane = __privateGet(this, _outgoing)[lane];
    if (sendLane) sendLane.windowReceived(consumed);
    else if (consumed !== 0) throw PeerFault.violation("a WINDOW beyond the events sent");
  }
  windowLost(lane, consumed) {
    var _a;
    (_a = __privateGet(this, _incoming)[lane]) == null ? void 0 : _a.windowLost(consumed);
  }
  windowDueUs(nowUs) {
    return earliest(__privateGet(this, _incoming).map((lane) => lane == null ? void 0 : lane.windowDueUs(nowUs)));
  }
  /** Decides on the content of a packet, in one pass over the lanes. */
  plan(peer) {
    const lanes = [];
    let [first, leadsWithEvent] = [Number.POSITIVE_INFINITY, false];
    for (const [lane, sendLane] of __privateGet(this, _outgoing).entries()) {
      if (!(sendLane == null ? void 0 : sendLane.hasMore(peer))) continue;
      lanes.push(lane);
      const laneClass = __privateMethod(this, _Lanes_instances, classOf_fn).call(this, lane);
      if (laneClass > first) continue;
      leadsWithEvent = (laneClass < first || leadsWithEvent) && sendLane.leadsWithEvent(REPEAT_BYTES_MAX);
      first = laneClass;
    }
    return { lanes, leadsWithEvent };
  }
  canRepeat(lane, number) {
    var _a;
    return ((_a = __privateGet(this, _outgoing)[lane]) == null ? void 0 : _a.canRepeat(number)) ?? false;
  }
  probe() {
    for (const lane of __privateGet(this, _outgoing)) lane == null ? void 0 : lane.probe(PROBE_EVENTS);
  }
  expire(lane, id) {
    var _a;
    (_a = __privateGet(this, _outgoing)[lane]) == null ? void 0 : _a.expire(id);
  }
  writeWindows({ builder, items }) {
    for (const [lane, receiveLane] of __privateGet(this, _incoming).entries()) {
      const consumed = receiveLane == null ? void 0 : receiveLane.windowToReport();
      if (receiveLane === void 0 || consumed === void 0) continue;
      builder.frame({ type: "window", lane, consumed });
      items.push({ type: "window", lane, consumed });
      receiveLane.windowSent();
    }
  }
  /** Repeats events that were not acknowledged. */
  repeat(context, redundancy) {
    const hasRoom = () => context.builder.room >= REPEAT_BYTES_MAX + 64;
    const repeat = (lane, number) => {
      var _a;
      return ((_a = __privateGet(this, _outgoing)[lane]) == null ? void 0 : _a.repeat(number, context)) ?? 0;
    };
    redundancy.repeat(context.nowUs, hasRoom, repeat);
  }
  /** The planned lanes, ordered by class for a packet. Within a class, the lanes take turns at being first. */
  inTurn({ lanes }) {
    __privateSet(this, _turn, __privateGet(this, _turn) + 1);
    const count = __privateGet(this, _outgoing).length;
    const turn = ({ lane }) => (lane + __privateGet(this, _turn)) % count;
    const planned = lanes.map((lane) => __privateGet(this, _outgoing)[lane]);
    return planned.sort((a, b) => __privateMethod(this, _Lanes_instances, classOf_fn).call(this, a.lane) - __privateMethod(this, _Lanes_instances, classOf_fn).call(this, b.lane) || turn(a) - turn(b));
  }
}
_outgoing = new WeakMap();
_incoming = new WeakMap();
_turn = new WeakMap();
_Lanes_instances = new WeakSet();
classOf_fn = function(lane) {
  return this.config.laneClasses[lane] ?? 0;
};
const COMPETITIVE_SHARE = 0.7;
const COMPETITIVE_STEP_BYTES = 1200;
const COMPETITIVE_GROWTH_PER_SECOND = 0.08;
const COMPETITIVE_START = 0.5;
const COMPETITIVE_HEADROOM = 2;
const OTHERS_DELIVERED_MIN = 0.85;
const OTHERS_DELIVERED_MAX = 1.1;
const COMPETITIVE_FIRST_US = 2e6;
const COMPETITIVE_LONGEST_US = 16e6;
const COMPETITIVE_RESUMED_US = 1e7;
const TRIAL_ROUNDS = 5;
const TRIAL_SHARE = 0.5;
const TRIAL_EMPTY = 3;
const EMPTY_ROUNDS = 8;
const OWN_REPEATED_US = 1e6;
const OWN_PAUSES = 2;
function competitiveGrowth(isStarting, rate, span) {
  const share = isStarting ? COMPETITIVE_START : COMPETITIVE_GROWTH_PER_SECOND * span;
  return Math.max(share * rate, COMPETITIVE_STEP_BYTES / span);
}
class CompetitiveMode {
  constructor(nowUs, lastsUs, isStarting, window2) {
    /** When the next trial may begin. */
    __publicField(this, "untilUs");
    __publicField(this, "hasFallen", false);
    /** The present trial: the rate is low, to test whether the other senders are still active. */
    __publicField(this, "trial");
    /** Consecutive pauses that found the sender's own queue. */
    __privateAdd(this, _own, 0);
    /**
     * Whether the queue was long since the last trial. If so, the next trial waits until it is long
     * again.
     */
    __publicField(this, "hadLongQueue", false);
    /** Consecutive rounds without a queue. */
    __publicField(this, "empty", 0);
    this.lastsUs = lastsUs;
    this.isStarting = isStarting;
    this.window = window2;
    this.untilUs = nowUs + lastsUs;
  }
  /** Returns the window, unless the low rate of a trial determines the rate. */
  get decisiveWindow() {
    return this.trial === void 0 || this.trial.pausesUntilUs !== void 0 ? this.window : void 0;
  }
  /** Whether packets leave at a share of the rate to test the queue. */
  pauses(nowUs) {
    var _a;
    const untilUs = (_a = this.trial) == null ? void 0 : _a.pausesUntilUs;
    return untilUs !== void 0 && nowUs < untilUs;
  }
  get nextLastsUs() {
    return Math.min(2 * this.lastsUs, COMPETITIVE_LONGEST_US);
  }
  /**
   * Handles the end of a round after a pause has begun. Returns whether pauses have shown that no
   * competitor is left.
   */
  judgePause(nowUs, trial) {
    if (trial.isOwn === void 0 && trial.rounds < TRIAL_ROUNDS) {
      trial.rounds += 1;
      return false;
    }
    this.trial = void 0;
    if (trial.isOwn === true) {
      __privateSet(this, _own, __privateGet(this, _own) + 1);
      this.untilUs = nowUs + OWN_REPEATED_US;
      return __privateGet(this, _own) === OWN_PAUSES;
    }
    __privateSet(this, _own, 0);
    this.lastsUs = this.nextLastsUs;
    this.untilUs = nowUs + this.lastsUs;
    return false;
  }
}
_own = new WeakMap();
const LONG_QUEUE_US = 3e4;
const UNUSUAL_US = 15e3;
const ABOVE_USUAL_US = 5e3;
const GROWING_US = 8e3;
const GROWING_SAMPLES = 3;
const GROWING_DELIVERED = 0.5;
const PAUSE_SHARE = 0.25;
const PAUSE_US = 6e4;
const PAUSE_NOISES = 16;
const DRAINED_US = 1e4;
const DRAINED_ALLOWANCE_US = 25e3;
const DELIVERY_US = 3e4;
const OTHERS_SHARE = 0.6;
const OTHERS_US = 1e4;
const OTHERS_NOISES = 2;
const OWN_SHARE = 0.8;
const SLOW_SHARE = 0.5;
const OTHERS_DRAINS = 2;
class Delivery {
  constructor(firstUs, firstSentUs, lastUs = firstUs, lastSentUs = firstSentUs, bytes = 0) {
    this.firstUs = firstUs;
    this.firstSentUs = firstSentUs;
    this.lastUs = lastUs;
    this.lastSentUs = lastSentUs;
    this.bytes = bytes;
  }
  static begin({ arrivedUs, sentUs }) {
    return new Delivery(arrivedUs, sentUs);
  }
  static of({ firstArrivedUs, firstSentUs, lastArrivedUs, lastSentUs, acknowledged }) {
    return new Delivery(firstArrivedUs, firstSentUs, lastArrivedUs, lastSentUs, acknowledged);
  }
  note({ arrivedUs, sentUs, bytes }) {
    this.lastUs = Math.max(this.lastUs, arrivedUs);
    this.lastSentUs = sentUs;
    this.bytes += bytes;
  }
  /** The rate at which the same bytes left, in bytes a second. */
  get sentRate() {
    return Math.max(1, this.bytes) / Math.max(1e3, this.lastSentUs - this.firstSentUs) * 1e6;
  }
  get us() {
    return this.lastUs - this.firstUs;
  }
  /** Bytes a second. */
  get rate() {
    return this.bytes / Math.max(1, this.us) * 1e6;
  }
}
class GrowingQueue {
  constructor(arrived, queueUs) {
    __publicField(this, "delivery");
    __privateAdd(this, _busyPeriod);
    __privateAdd(this, _samples, 1);
    /** The longest queueing delay of these packets. */
    __publicField(this, "longestUs");
    this.queueUs = queueUs;
    this.delivery = Delivery.begin(arrived);
    __privateSet(this, _busyPeriod, arrived.busyPeriod);
    this.longestUs = queueUs;
  }
  continues({ busyPeriod }) {
    return busyPeriod === __privateGet(this, _busyPeriod);
  }
  /**
   * Adds an acknowledgement. Returns whether the queue certainly grows, given the mean delivery
   * rate.
   */
  note(arrived, queueUs, mean) {
    this.delivery.note(arrived);
    __privateSet(this, _samples, __privateGet(this, _samples) + 1);
    this.longestUs = Math.max(this.longestUs, queueUs);
    const isSlow = this.delivery.rate < GROWING_DELIVERED * mean;
    const isSure = __privateGet(this, _samples) >= GROWING_SAMPLES || isSlow;
    return isSure && this.delivery.us >= GROWING_US && queueUs >= this.queueUs;
  }
}
_busyPeriod = new WeakMap();
_samples = new WeakMap();
class QueueTest {
  constructor({ nextNumber, sentUs, packetBytes }, queueUs, delivered) {
    /** Number of the first packet that was sent after the test began. */
    __privateAdd(this, _first2);
    /** The departure and size of the previous packet. */
    __privateAdd(this, _leftUs);
    __privateAdd(this, _packetBytes);
    /** Bytes that arrived after that packet. */
    __privateAdd(this, _bytes2, 0);
    this.queueUs = queueUs;
    this.delivered = delivered;
    __privateSet(this, _first2, nextNumber);
    __privateSet(this, _leftUs, sentUs);
    __privateSet(this, _packetBytes, packetBytes);
  }
  /** Adds a packet. Returns whether it left before the test. */
  note({ number, sentUs, packetBytes, bytes }, queueUs) {
    if (number >= __privateGet(this, _first2)) {
      __privateSet(this, _bytes2, __privateGet(this, _bytes2) + bytes);
      return false;
    }
    this.queueUs = queueUs;
    __privateSet(this, _leftUs, sentUs);
    __privateSet(this, _packetBytes, packetBytes);
    __privateSet(this, _bytes2, 0);
    return true;
  }
  lastedUs({ sentUs }) {
    return sentUs - __privateGet(this, _leftUs);
  }
  /** The decrease of the queue, and the expected decrease if the queue is the sender's own. */
  shrunkUs(arrived, queueUs) {
    const bytes = Math.max(0, __privateGet(this, _packetBytes) + __privateGet(this, _bytes2) - arrived.packetBytes);
    const expectedUs = this.lastedUs(arrived) - bytes / this.delivered * 1e6;
    return [this.queueUs - queueUs, Math.min(expectedUs, this.queueUs)];
  }
}
_first2 = new WeakMap();
_leftUs = new WeakMap();
_packetBytes = new WeakMap();
_bytes2 = new WeakMap();
class Drain {
  constructor(test, delivery, rate, least, pausesUntilUs) {
    /** Time at which few enough bytes were in flight to continue. */
    __privateAdd(this, _resumedUs);
    this.test = test;
    this.delivery = delivery;
    this.rate = rate;
    this.least = least;
    this.pausesUntilUs = pausesUntilUs;
  }
  /** Handles a departing packet. Returns the share of the rate for the next one. */
  shareAt(nowUs, hasRoomInFlight) {
    if (hasRoomInFlight && nowUs >= this.pausesUntilUs) __privateGet(this, _resumedUs) ?? __privateSet(this, _resumedUs, nowUs);
    return __privateGet(this, _resumedUs) === void 0 ? PAUSE_SHARE : 1;
  }
  /** Whether the packet left after the sender continued. */
  isOver({ sentUs }) {
    return __privateGet(this, _resumedUs) !== void 0 && sentUs > __privateGet(this, _resumedUs);
  }
}
_resumedUs = new WeakMap();
const BASE_SPAN_US = 5e6;
const COMPETITIVE_BASE_SPAN_US = 3e7;
const RIVALS_SPAN_US = 1e7;
const USUAL_SPAN_US = 1e6;
const NOISE_SAMPLES = 32;
const NOISE_SAMPLES_MIN = 8;
const NOISE_STEP_US = 500;
class BaseDelay {
  constructor() {
    __privateAdd(this, _beganUs, Number.NEGATIVE_INFINITY);
    __privateAdd(this, _least, Number.POSITIVE_INFINITY);
    __privateAdd(this, _previous, Number.POSITIVE_INFINITY);
  }
  excess(nowUs, delayUs, isCompeting) {
    const spanUs = isCompeting ? COMPETITIVE_BASE_SPAN_US : BASE_SPAN_US;
    if (nowUs - __privateGet(this, _beganUs) >= spanUs) {
      __privateSet(this, _previous, __privateGet(this, _least));
      __privateSet(this, _least, delayUs);
      __privateSet(this, _beganUs, nowUs);
    }
    __privateSet(this, _least, Math.min(__privateGet(this, _least), delayUs));
    return delayUs - Math.min(__privateGet(this, _least), __privateGet(this, _previous));
  }
}
_beganUs = new WeakMap();
_least = new WeakMap();
_previous = new WeakMap();
class Peak {
  constructor() {
    __privateAdd(this, _beganUs2, Number.NEGATIVE_INFINITY);
    __privateAdd(this, _current2, 0);
    __privateAdd(this, _previous2, 0);
  }
  get highest() {
    return Math.max(__privateGet(this, _current2), __privateGet(this, _previous2));
  }
  note(nowUs, delivered) {
    if (nowUs - __privateGet(this, _beganUs2) >= BASE_SPAN_US) {
      __privateSet(this, _previous2, __privateGet(this, _current2));
      __privateSet(this, _current2, 0);
      __privateSet(this, _beganUs2, nowUs);
    }
    __privateSet(this, _current2, Math.max(__privateGet(this, _current2), delivered));
  }
}
_beganUs2 = new WeakMap();
_current2 = new WeakMap();
_previous2 = new WeakMap();
class Rivals {
  constructor() {
    /**
     * Number of consecutive drains, each a short time after the previous one, that found that the
     * queue belongs to others.
     */
    __privateAdd(this, _drains, 0);
    __privateAdd(this, _seenUs, Number.NEGATIVE_INFINITY);
  }
  /** Whether a drain or a trial found competitors recently. */
  areEvident(nowUs) {
    return nowUs - __privateGet(this, _seenUs) < RIVALS_SPAN_US;
  }
  see(nowUs) {
    __privateSet(this, _seenUs, nowUs);
  }
  /** Counts a drain that found that the queue belongs to others, and returns the count. */
  noteDrain(nowUs) {
    __privateSet(this, _drains, this.areEvident(nowUs) ? __privateGet(this, _drains) + 1 : 1);
    this.see(nowUs);
    return __privateGet(this, _drains);
  }
  /** Resets the count, because the sender competes. */
  forgetDrains() {
    __privateSet(this, _drains, 0);
  }
}
_drains = new WeakMap();
_seenUs = new WeakMap();
class Usual {
  constructor() {
    __privateAdd(this, _beganUs3, Number.NEGATIVE_INFINITY);
    __privateAdd(this, _current3);
    __privateAdd(this, _previous3);
  }
  /** The result is infinite in the first second. */
  get longestUs() {
    return Math.max(__privateGet(this, _current3) ?? Number.POSITIVE_INFINITY, __privateGet(this, _previous3) ?? Number.POSITIVE_INFINITY);
  }
  note(nowUs, queueUs) {
    if (nowUs - __privateGet(this, _beganUs3) >= USUAL_SPAN_US) {
      __privateSet(this, _previous3, __privateGet(this, _current3));
      __privateSet(this, _current3, queueUs);
      __privateSet(this, _beganUs3, nowUs);
    }
    __privateSet(this, _current3, Math.max(__privateGet(this, _current3) ?? queueUs, queueUs));
  }
}
_beganUs3 = new WeakMap();
_current3 = new WeakMap();
_previous3 = new WeakMap();
class Noise {
  constructor() {
    __privateAdd(this, _last);
    __privateAdd(this, _before);
    __privateAdd(this, _samples2, 0);
    __publicField(this, "meanUs", 0);
  }
  note(delayUs) {
    const [last, before] = [__privateGet(this, _last), __privateGet(this, _before)];
    __privateSet(this, _before, last);
    __privateSet(this, _last, delayUs);
    if (last === void 0 || before === void 0) return;
    const bendUs = Math.abs(delayUs - 2 * last + before) / 2;
    __privateSet(this, _samples2, Math.min(NOISE_SAMPLES, __privateGet(this, _samples2) + 1));
    const countedUs = Math.min(bendUs, 2 * this.meanUs + NOISE_STEP_US);
    this.meanUs += (countedUs - this.meanUs) / Math.max(__privateGet(this, _samples2), NOISE_SAMPLES_MIN);
  }
}
_last = new WeakMap();
_before = new WeakMap();
_samples2 = new WeakMap();
const BLOCK_BYTES = 8e3;
const LOSSY = 0.15;
const SUSPECTED_BLOCKS = 6;
const SUSPECTED_US = 4e5;
const CONFIRMED_BLOCKS = 3;
const TEST_LOST_BYTES = 24e3;
const TEST_SHARE = 0.5;
const ALLOWED_SHARE = 0.9;
const SAME_SHARE = 0.25;
const LIMIT_FIRST_US = 2e6;
const LIMIT_LONGEST_US = 16e6;
const LIMIT_KNOWN_US = 1e7;
const USUAL_WEIGHT = 1 / 64;
class Tally {
  constructor() {
    __publicField(this, "acknowledged", 0);
    __publicField(this, "lostBytes", 0);
    __publicField(this, "span", 0);
  }
  add({ acknowledged, lostBytes, span }) {
    this.acknowledged += acknowledged;
    this.lostBytes += lostBytes;
    this.span += span;
    return this;
  }
  get bytes() {
    return this.acknowledged + this.lostBytes;
  }
  /** The share of lost bytes. */
  get loss() {
    return this.lostBytes / Math.max(1, this.bytes);
  }
  /** Bytes a second. */
  get delivered() {
    return this.acknowledged / this.span;
  }
}
class Policer {
  constructor() {
    __privateAdd(this, _Policer_instances);
    /** The share of lost bytes that does not depend on the rate. */
    __privateAdd(this, _usualLoss, 0);
    __privateAdd(this, _block, new Tally());
    /**
     * Lossy blocks in a row. The tally is that of the blocks after the first one, because the bucket of the policer may have been
     * full at the beginning of the first block.
     */
    __privateAdd(this, _suspicion);
    __privateAdd(this, _test);
    __privateAdd(this, _limit);
  }
  /** The highest rate that the known limit allows, in bytes a second. */
  allowed(nowUs) {
    if (__privateGet(this, _limit) === void 0 || nowUs >= __privateGet(this, _limit).untilUs) return Number.POSITIVE_INFINITY;
    return ALLOWED_SHARE * __privateGet(this, _limit).bytesPerSecond;
  }
  /** Handles a round of a sender with this rate. A queue explains loss, so a round with a queue ends a suspicion or a test. */
  note(nowUs, round, hasQueue, rate) {
    if (hasQueue) {
      __privateSet(this, _block, new Tally());
      __privateSet(this, _suspicion, void 0);
      __privateSet(this, _test, void 0);
      return { kind: "none" };
    }
    if (__privateGet(this, _test) !== void 0) {
      return round.followsFall ? { kind: "stay" } : __privateMethod(this, _Policer_instances, goOnTesting_fn).call(this, nowUs, __privateGet(this, _test), round);
    }
    const block = __privateGet(this, _block).add(round);
    if (block.bytes < BLOCK_BYTES) return { kind: __privateGet(this, _suspicion) === void 0 ? "none" : "stay" };
    __privateSet(this, _block, new Tally());
    const { loss } = block;
    if (loss < __privateGet(this, _usualLoss)) __privateSet(this, _usualLoss, __privateGet(this, _usualLoss) + USUAL_WEIGHT * (loss - __privateGet(this, _usualLoss)));
    if (loss < __privateGet(this, _usualLoss) + LOSSY) {
      __privateSet(this, _suspicion, void 0);
      return { kind: "none" };
    }
    if (__privateGet(this, _suspicion) === void 0) {
      __privateSet(this, _suspicion, { sinceUs: nowUs, blocks: 1, tally: new Tally() });
      return { kind: "stay" };
    }
    const { sinceUs, tally } = __privateGet(this, _suspicion);
    __privateGet(this, _suspicion).blocks += 1;
    const { blocks } = __privateGet(this, _suspicion);
    const { delivered } = tally.add(block);
    const isSure = blocks >= SUSPECTED_BLOCKS && nowUs - sinceUs >= SUSPECTED_US;
    const isKnown = blocks >= CONFIRMED_BLOCKS && __privateMethod(this, _Policer_instances, confirms_fn).call(this, nowUs, delivered);
    if (!isSure && !isKnown) return { kind: "stay" };
    __privateSet(this, _suspicion, void 0);
    __privateSet(this, _test, { rateBefore: rate, delivered, loss: tally.loss, tally: new Tally() });
    return { kind: "test", bytesPerSecond: delivered };
  }
}
_usualLoss = new WeakMap();
_block = new WeakMap();
_suspicion = new WeakMap();
_test = new WeakMap();
_limit = new WeakMap();
_Policer_instances = new WeakSet();
goOnTesting_fn = function(nowUs, { rateBefore, delivered, loss, tally }, round) {
  if (loss * tally.add(round).bytes < TEST_LOST_BYTES) return { kind: "stay" };
  __privateSet(this, _test, void 0);
  __privateSet(this, _usualLoss, tally.loss);
  if (tally.loss > TEST_SHARE * loss) return { kind: "no limit", bytesPerSecond: rateBefore };
  const known = __privateMethod(this, _Policer_instances, confirms_fn).call(this, nowUs, delivered) ? __privateGet(this, _limit) : void 0;
  const lastsUs = known === void 0 ? LIMIT_FIRST_US : Math.min(2 * known.lastsUs, LIMIT_LONGEST_US);
  __privateSet(this, _limit, { bytesPerSecond: delivered, lastsUs, untilUs: nowUs + lastsUs });
  return { kind: "limit", bytesPerSecond: delivered };
};
/** Whether a delivery rate is that of a known limit. */
confirms_fn = function(nowUs, delivered) {
  if (__privateGet(this, _limit) === void 0) return false;
  const { bytesPerSecond, untilUs } = __privateGet(this, _limit);
  const difference = Math.abs(delivered - bytesPerSecond);
  return nowUs < untilUs + LIMIT_KNOWN_US && difference <= SAME_SHARE * bytesPerSecond;
};
const ROUND_US_MIN = 25e3;
class Round {
  constructor(beganUs, { nextNumber, sentUs, arrivedUs, busyPeriod }) {
    /** The round ends when a packet of this number or a later one is acknowledged. */
    __privateAdd(this, _end);
    /** Arrival of its first and its last packet, by the peer's clock. */
    __publicField(this, "firstArrivedUs");
    __publicField(this, "lastArrivedUs");
    /** The times at which these two packets left. */
    __publicField(this, "firstSentUs");
    __publicField(this, "lastSentUs");
    /** The part of the round in which nothing was in flight. */
    __privateAdd(this, _idleUs, 0);
    __privateAdd(this, _busyPeriod2);
    __publicField(this, "acknowledged", 0);
    __publicField(this, "lostBytes", 0);
    __publicField(this, "queueMinUs", Number.POSITIVE_INFINITY);
    __publicField(this, "wasHeldBack", false);
    /**
     * Whether the rate fell at the start of the round, so that its packets were sent at the earlier
     * rate.
     */
    __publicField(this, "followsFall", false);
    this.beganUs = beganUs;
    __privateSet(this, _busyPeriod2, busyPeriod);
    __privateSet(this, _end, nextNumber);
    this.firstArrivedUs = arrivedUs;
    this.lastArrivedUs = arrivedUs;
    this.firstSentUs = sentUs;
    this.lastSentUs = sentUs;
  }
  /** Records an acknowledgement, and the queueing delay of its packet. */
  note(arrived, queueUs) {
    if (arrived.busyPeriod !== __privateGet(this, _busyPeriod2)) {
      __privateSet(this, _busyPeriod2, arrived.busyPeriod);
      __privateSet(this, _idleUs, __privateGet(this, _idleUs) + Math.max(0, arrived.arrivedUs - this.lastArrivedUs));
    }
    this.lastArrivedUs = Math.max(this.lastArrivedUs, arrived.arrivedUs);
    this.lastSentUs = arrived.sentUs;
    this.acknowledged += arrived.bytes;
    this.queueMinUs = Math.min(this.queueMinUs, queueUs);
  }
  isOver(nowUs, arrived) {
    return arrived.number >= __privateGet(this, _end) && nowUs - this.beganUs >= ROUND_US_MIN;
  }
  /** The length of the round at the peer, in seconds. */
  get span() {
    return Math.max(1, this.lastArrivedUs - this.firstArrivedUs) / 1e6;
  }
  /** The delivery rate, in bytes a second. */
  get delivered() {
    return this.acknowledged / this.span;
  }
  /**
   * Whether too little was in flight, so that the delivery rate does not show the capacity of the
   * link.
   */
  get wasMostlyIdle() {
    return 2 * __privateGet(this, _idleUs) > this.span * 1e6;
  }
}
_end = new WeakMap();
_idleUs = new WeakMap();
_busyPeriod2 = new WeakMap();
const GROWTH = 0.4;
const PACKET_BYTES = 1200;
const WINDOW_BYTES_MIN = 2 * PACKET_BYTES;
const KEPT_SHARE$1 = 0.65;
const RENO_PACKETS = 3 * (1 - 0.7) / (1 + 0.7);
const GROWTH_MAX = 1.5;
const PACING = 1.2;
const SMOOTHING = 0.125;
const ROUND_TRIP_MIN = 1e-3;
class Window {
  /** The window of a sender with a rate, bytes a second, on a path with a round trip, seconds. */
  constructor(rate, roundTrip) {
    __privateAdd(this, _Window_instances);
    __publicField(this, "bytes");
    /** The window before the last loss, bytes. */
    __privateAdd(this, _max);
    /** The window that Reno would have, bytes. */
    __privateAdd(this, _reno);
    /** Time since the last loss while packets were held back, seconds. */
    __privateAdd(this, _elapsed, 0);
    /** Time from the last loss until the window is back at its maximum, seconds. */
    __privateAdd(this, _untilMax, 0);
    /** Smoothed, seconds. */
    __privateAdd(this, _roundTrip);
    __privateSet(this, _roundTrip, Math.max(ROUND_TRIP_MIN, roundTrip));
    this.bytes = Math.max(WINDOW_BYTES_MIN, rate * __privateGet(this, _roundTrip));
    __privateSet(this, _max, this.bytes);
    __privateSet(this, _reno, this.bytes);
  }
  /** The rate at which packets leave, bytes a second. */
  get rate() {
    return PACING * this.bytes / __privateGet(this, _roundTrip);
  }
  /** Continues with this window after a break; `roundTrip` is in seconds. */
  resume(roundTrip) {
    __privateSet(this, _roundTrip, Math.max(ROUND_TRIP_MIN, roundTrip));
  }
  /** Handles a packet that was acknowledged after `roundTrip` seconds. */
  sample(roundTrip) {
    __privateSet(this, _roundTrip, __privateGet(this, _roundTrip) + SMOOTHING * (Math.max(ROUND_TRIP_MIN, roundTrip) - __privateGet(this, _roundTrip)));
  }
  /** Handles a round with losses. */
  shrink() {
    const hasShrunk = this.bytes < __privateGet(this, _max);
    __privateSet(this, _max, hasShrunk ? this.bytes * (1 + KEPT_SHARE$1) / 2 : this.bytes);
    this.bytes = Math.max(WINDOW_BYTES_MIN, KEPT_SHARE$1 * this.bytes);
    __privateSet(this, _reno, this.bytes);
    __privateSet(this, _elapsed, 0);
    __privateSet(this, _untilMax, Math.cbrt(Math.max(0, __privateGet(this, _max) - this.bytes) / PACKET_BYTES / GROWTH));
  }
  /**
   * Handles a round in which packets were held back, if nothing was lost since the window began.
   * `rateMax` is in bytes a second.
   */
  start(rateMax) {
    __privateMethod(this, _Window_instances, set_fn).call(this, GROWTH_MAX * this.bytes, rateMax);
    __privateSet(this, _max, this.bytes);
    __privateSet(this, _reno, this.bytes);
  }
  /**
   * Handles a round of `span` seconds without loss in which packets were held back. `rateMax` is in
   * bytes a second.
   */
  grow(span, rateMax) {
    __privateSet(this, _elapsed, __privateGet(this, _elapsed) + span);
    const ahead = __privateGet(this, _elapsed) + __privateGet(this, _roundTrip) - __privateGet(this, _untilMax);
    const target = __privateGet(this, _max) + GROWTH * ahead ** 3 * PACKET_BYTES;
    const packets = __privateGet(this, _reno) < __privateGet(this, _max) ? RENO_PACKETS : 1;
    __privateSet(this, _reno, __privateGet(this, _reno) + packets * PACKET_BYTES * span / __privateGet(this, _roundTrip));
    const cubic = Math.min(GROWTH_MAX * this.bytes, Math.max(this.bytes, target));
    __privateMethod(this, _Window_instances, set_fn).call(this, Math.max(cubic, __privateGet(this, _reno)), rateMax);
  }
}
_max = new WeakMap();
_reno = new WeakMap();
_elapsed = new WeakMap();
_untilMax = new WeakMap();
_roundTrip = new WeakMap();
_Window_instances = new WeakSet();
set_fn = function(bytes, rateMax) {
  this.bytes = Math.max(WINDOW_BYTES_MIN, Math.min(bytes, rateMax * __privateGet(this, _roundTrip)));
};
const INITIAL = 125e3;
const LEAST = 2e3;
const QUEUE_TARGET_US = 4e3;
const QUEUE_TARGET_US_MAX = 2e4;
const QUEUE_NOISES = 3;
const NEAR_SHARE = 0.85;
const SURE_SHARE = 0.97;
const KEPT_SHARE = 0.9;
const FASTER = 1.3;
const RECOVERY_US_MAX = 5e5;
const BURST_US = 2e3;
const FLIGHT_ALLOWANCE_US = 3e4;
const FLIGHT_NOISES = 4;
const FLIGHT_BYTES_MIN = 2 * 1200;
const FLIGHT_ROUND_TRIPS_RELIABLE = 3;
const PACKET_SECONDS = 5e-3;
const PACKET_BYTES_MIN = 600;
const SEGMENT_BYTES$1 = 1380;
const MEAN_SECONDS = 0.5;
const FALL = 3;
const FALLS_MAX = 5 * FALL;
const _SendRate = class _SendRate {
  constructor(budget, bytesPerSecond = INITIAL) {
    __privateAdd(this, _SendRate_instances);
    __publicField(this, "bytesPerSecond");
    __publicField(this, "queueUs", 0);
    __publicField(this, "nextAtUs", Number.NEGATIVE_INFINITY);
    __privateAdd(this, _isStarting, true);
    __privateAdd(this, _capacity);
    __privateAdd(this, _falls, 0);
    /** The time since which every round had a queue. */
    __privateAdd(this, _queueSinceUs);
    __privateAdd(this, _beforeFalls, { delivered: 0, allowed: 0 });
    __privateAdd(this, _growing);
    __privateAdd(this, _drain);
    __privateAdd(this, _policer, new Policer());
    /** The longest recent queueing delay. */
    __privateAdd(this, _usual, new Usual());
    __privateAdd(this, _rivals, new Rivals());
    /** Consecutive rounds in which the rate grew beyond the found capacity. */
    __privateAdd(this, _probes, 0);
    __privateAdd(this, _competitive);
    __privateAdd(this, _ended);
    __privateAdd(this, _base, new BaseDelay());
    __privateAdd(this, _peak, new Peak());
    __privateAdd(this, _noise, new Noise());
    __privateAdd(this, _round2);
    __privateAdd(this, _heldBack, false);
    /** The rate of recent deliveries, in bytes a second. */
    __privateAdd(this, _mean, 0);
    this.budget = budget;
    this.bytesPerSecond = __privateMethod(this, _SendRate_instances, clamp_fn).call(this, bytesPerSecond);
  }
  /** Makes the state for a new path, with only the speed of the previous path. */
  restarted(share) {
    return new _SendRate(this.budget, this.bytesPerSecond * share);
  }
  /** Makes the initial state after a silence, without any measurement of the path. */
  slowedDown() {
    const next = this.restarted(0.5);
    __privateSet(next, _mean, __privateGet(this, _mean));
    __privateSet(next, _noise, __privateGet(this, _noise));
    return next;
  }
  /** Continues after an outage at the earlier rate, and ignores packets in flight during the outage. */
  resumed() {
    const next = this.restarted(1);
    __privateSet(next, _isStarting, __privateGet(this, _isStarting));
    __privateSet(next, _capacity, __privateGet(this, _capacity));
    __privateSet(next, _policer, __privateGet(this, _policer));
    __privateSet(next, _peak, __privateGet(this, _peak));
    __privateSet(next, _noise, __privateGet(this, _noise));
    __privateSet(next, _mean, __privateGet(this, _mean));
    return next;
  }
  /** Whether packets are sent at a fraction of the rate until the queue is empty, however many bytes are in flight. */
  get isDraining() {
    return __privateGet(this, _drain) !== void 0;
  }
  /** Maximum bytes in flight, given the least and the smoothed round trip. */
  flightBytesMax(leastUs, smoothedUs, isReliable) {
    var _a;
    const withRivals = __privateGet(this, _competitive) === void 0 ? leastUs : Math.max(leastUs, smoothedUs);
    const roundTripUs = isReliable ? FLIGHT_ROUND_TRIPS_RELIABLE * leastUs : withRivals;
    const beyondUs = this.isDraining ? DRAINED_ALLOWANCE_US : FLIGHT_ALLOWANCE_US;
    const window2 = (_a = __privateGet(this, _competitive)) == null ? void 0 : _a.decisiveWindow;
    if (window2 !== void 0) return window2.bytes;
    const allowanceUs = beyondUs + FLIGHT_NOISES * __privateGet(this, _noise).meanUs;
    return Math.max(FLIGHT_BYTES_MIN, this.bytesPerSecond * (roundTripUs + allowanceUs) / 1e6);
  }
  /** Maximum size of a packet, unless its first message needs more. */
  packetBytes(isReliable) {
    if (!isReliable) return Math.max(PACKET_BYTES_MIN, Math.floor(this.bytesPerSecond * PACKET_SECONDS));
    const bytes = Math.min(this.bytesPerSecond, __privateGet(this, _mean)) * PACKET_SECONDS;
    return Math.max(1, Math.floor(bytes / SEGMENT_BYTES$1)) * SEGMENT_BYTES$1;
  }
  /** Records that a packet is ready but must wait. */
  holdBack() {
    __privateSet(this, _heldBack, true);
  }
  /** Handles a lost packet. Loss counts only if others fill the queue, or if much is lost. */
  lost(bytes) {
    if (__privateGet(this, _round2) !== void 0) __privateGet(this, _round2).lostBytes += bytes;
  }
  /** Corrects the number of lost bytes: packets that had been declared lost were only overtaken. */
  found(bytes) {
    if (__privateGet(this, _round2) !== void 0) __privateGet(this, _round2).lostBytes = Math.max(0, __privateGet(this, _round2).lostBytes - bytes);
  }
  /**
   * Handles a departing packet. For a silent peer, `silentShare` is the share of its earlier delivery rate. `hasRoomInFlight`:
   * whether the bytes in flight leave room for more.
   */
  spend(nowUs, bytes, silentShare, hasRoomInFlight) {
    const isSilent = silentShare !== void 0;
    const share = isSilent ? 1 : __privateMethod(this, _SendRate_instances, shareAt_fn).call(this, nowUs, hasRoomInFlight);
    const delivered = Math.max(LEAST, __privateGet(this, _mean) || this.bytesPerSecond);
    const silentRate = (silentShare ?? Number.POSITIVE_INFINITY) * delivered;
    const perSecond = Math.min(silentRate, share * this.bytesPerSecond);
    const from = Math.max(this.nextAtUs, nowUs - BURST_US);
    this.nextAtUs = from + bytes / perSecond * 1e6;
  }
  acknowledged(nowUs, arrived) {
    const passingUs = arrived.packetBytes / __privateGet(this, _SendRate_instances, linkRate_get) * 1e6;
    const delayUs = arrived.arrivedUs - arrived.sentUs;
    const queueUs = __privateGet(this, _base).excess(nowUs, delayUs, __privateGet(this, _competitive) !== void 0) - passingUs;
    if (!arrived.isReliable) __privateGet(this, _noise).note(queueUs);
    __privateMethod(this, _SendRate_instances, watchQueue_fn).call(this, nowUs, arrived, queueUs);
    const round = __privateGet(this, _round2);
    if (round === void 0) {
      __privateSet(this, _round2, new Round(nowUs, arrived));
      return;
    }
    round.note(arrived, queueUs);
    round.wasHeldBack || (round.wasHeldBack = __privateGet(this, _heldBack));
    __privateSet(this, _heldBack, false);
    if (!round.isOver(nowUs, arrived)) return;
    __privateSet(this, _round2, new Round(nowUs, arrived));
    __privateMethod(this, _SendRate_instances, adjust_fn).call(this, nowUs, round, arrived, queueUs);
  }
};
_isStarting = new WeakMap();
_capacity = new WeakMap();
_falls = new WeakMap();
_queueSinceUs = new WeakMap();
_beforeFalls = new WeakMap();
_growing = new WeakMap();
_drain = new WeakMap();
_policer = new WeakMap();
_usual = new WeakMap();
_rivals = new WeakMap();
_probes = new WeakMap();
_competitive = new WeakMap();
_ended = new WeakMap();
_base = new WeakMap();
_peak = new WeakMap();
_noise = new WeakMap();
_round2 = new WeakMap();
_heldBack = new WeakMap();
_mean = new WeakMap();
_SendRate_instances = new WeakSet();
/** The share of the rate at which the next packet leaves: 1, except in pauses. */
shareAt_fn = function(nowUs, hasRoomInFlight) {
  var _a, _b;
  if ((_a = __privateGet(this, _competitive)) == null ? void 0 : _a.pauses(nowUs)) return PAUSE_SHARE;
  return ((_b = __privateGet(this, _drain)) == null ? void 0 : _b.shareAt(nowUs, hasRoomInFlight)) ?? 1;
};
linkRate_get = function() {
  const { highest } = __privateGet(this, _peak);
  const isFound = __privateGet(this, _capacity) !== void 0 && __privateGet(this, _competitive) === void 0;
  return Math.max(this.bytesPerSecond, isFound ? Math.min(__privateGet(this, _capacity), highest) : highest);
};
/** Handles an acknowledgement whose newest packet had this queueing delay. */
watchQueue_fn = function(nowUs, arrived, queueUs) {
  var _a, _b;
  if (__privateGet(this, _drain) !== void 0) {
    __privateMethod(this, _SendRate_instances, goOnDraining_fn).call(this, nowUs, __privateGet(this, _drain), arrived, queueUs);
    return;
  }
  if (__privateGet(this, _competitive) !== void 0) {
    __privateMethod(this, _SendRate_instances, watchWindow_fn).call(this, nowUs, __privateGet(this, _competitive), arrived, queueUs);
    return;
  }
  const { longestUs } = __privateGet(this, _usual);
  const aboveTargetUs = UNUSUAL_US + __privateGet(this, _SendRate_instances, queueTargetUs_get);
  const unusualUs = Number.isFinite(longestUs) ? Math.min(aboveTargetUs, longestUs + ABOVE_USUAL_US) : aboveTargetUs;
  if (arrived.isReliable || queueUs <= unusualUs) {
    __privateGet(this, _usual).note(nowUs, Math.max(queueUs, ((_a = __privateGet(this, _growing)) == null ? void 0 : _a.longestUs) ?? queueUs));
    __privateSet(this, _growing, void 0);
  } else if (!((_b = __privateGet(this, _growing)) == null ? void 0 : _b.continues(arrived))) {
    __privateSet(this, _growing, new GrowingQueue(arrived, queueUs));
  } else if (__privateGet(this, _growing).note(arrived, queueUs, __privateGet(this, _mean)) && queueUs > __privateGet(this, _SendRate_instances, drainedUs_get)) {
    __privateMethod(this, _SendRate_instances, beginDrain_fn).call(this, nowUs, arrived, queueUs, __privateGet(this, _growing).delivery);
  }
};
/**
 * The rate of the link that a delivery shows to a sender with this rate. Beside competitors, packets arrive only a little more
 * slowly than they left. After a pause, they left slowly. Neither shows that the link became slower.
 */
shownBy_fn = function(nowUs, delivery, rate) {
  const { rate: delivered, sentRate } = delivery;
  const hasRivals = __privateGet(this, _rivals).areEvident(nowUs);
  const before = __privateGet(this, _falls) > 0 || hasRivals ? __privateGet(this, _beforeFalls).delivered : 0;
  const known = Math.max(__privateGet(this, _mean), before, delivered);
  const knownRate = Math.min(rate, known);
  if (!hasRivals && sentRate > SLOW_SHARE * knownRate) return delivered;
  return Math.min(known, Math.max(delivered, knownRate * delivered / sentRate));
};
beginDrain_fn = function(nowUs, arrived, queueUs, delivery) {
  var _a;
  const rate = this.bytesPerSecond;
  const delivered = __privateMethod(this, _SendRate_instances, shownBy_fn).call(this, nowUs, delivery, rate);
  let least = 0;
  if (!(__privateGet(this, _heldBack) || ((_a = __privateGet(this, _round2)) == null ? void 0 : _a.wasHeldBack))) least = Math.min(INITIAL, this.bytesPerSecond);
  else if (__privateGet(this, _falls) > 0 && !__privateMethod(this, _SendRate_instances, isLong_fn).call(this, queueUs))
    least = Math.min(COMPETITIVE_SHARE * __privateGet(this, _beforeFalls).delivered, this.bytesPerSecond);
  if (__privateGet(this, _falls) === 0 && !__privateGet(this, _rivals).areEvident(nowUs)) {
    const allowed = Math.min(rate, Math.max(__privateGet(this, _peak).highest, INITIAL));
    __privateSet(this, _beforeFalls, { delivered: Math.max(__privateGet(this, _mean), delivered), allowed });
  }
  __privateMethod(this, _SendRate_instances, fallTo_fn).call(this, delivered, KEPT_SHARE);
  this.bytesPerSecond = Math.max(this.bytesPerSecond, least, LEAST);
  __privateSet(this, _growing, void 0);
  __privateSet(this, _queueSinceUs, nowUs);
  const pausesUntilUs = nowUs + Math.floor(__privateMethod(this, _SendRate_instances, pauseUs_fn).call(this, queueUs));
  const test = new QueueTest(arrived, queueUs, delivered);
  __privateSet(this, _drain, new Drain(test, delivery, rate, least, pausesUntilUs));
  __privateSet(this, _round2, new Round(nowUs, arrived));
};
goOnDraining_fn = function(nowUs, drain, arrived, queueUs) {
  const { test, delivery, least } = drain;
  if (test.note(arrived, queueUs)) {
    delivery.note(arrived);
    if (delivery.us < DELIVERY_US) return;
    const delivered = __privateMethod(this, _SendRate_instances, shownBy_fn).call(this, nowUs, delivery, drain.rate);
    test.delivered = delivered;
    __privateSet(this, _capacity, delivered);
    this.bytesPerSecond = __privateMethod(this, _SendRate_instances, clamp_fn).call(this, Math.max(KEPT_SHARE * delivered, least));
    return;
  }
  const isDrained = queueUs <= __privateGet(this, _SendRate_instances, drainedUs_get);
  const [shrunkUs, expectedUs] = test.shrunkUs(arrived, queueUs);
  const marginUs = OTHERS_US + OTHERS_NOISES * __privateGet(this, _noise).meanUs;
  const hasLasted = test.lastedUs(arrived) >= __privateMethod(this, _SendRate_instances, pauseUs_fn).call(this, test.queueUs);
  const isShorter = shrunkUs >= Math.min(OTHERS_SHARE * expectedUs, expectedUs - marginUs);
  const isOfOthers = !isDrained && hasLasted && !isShorter;
  if (!isDrained && !isOfOthers && !drain.isOver(arrived)) return;
  __privateSet(this, _drain, void 0);
  __privateSet(this, _round2, new Round(nowUs, arrived));
  if (!isOfOthers) {
    if (test.queueUs > 2 * __privateGet(this, _SendRate_instances, drainedUs_get)) __privateSet(this, _falls, 0);
    return;
  }
  this.bytesPerSecond = Math.max(this.bytesPerSecond, COMPETITIVE_SHARE * drain.rate);
  if (__privateGet(this, _rivals).noteDrain(nowUs) >= OTHERS_DRAINS || __privateMethod(this, _SendRate_instances, hasJustEnded_fn).call(this, nowUs)) {
    __privateGet(this, _rivals).forgetDrains();
    __privateMethod(this, _SendRate_instances, beginCompeting_fn).call(this, nowUs, arrived);
  }
};
/** Handles an acknowledgement in competitive mode. The window sets the rate; a trial checks the queue. */
watchWindow_fn = function(nowUs, { window: window2, decisiveWindow, trial }, arrived, queueUs) {
  window2 == null ? void 0 : window2.sample((nowUs - arrived.sentUs) / 1e6);
  if (decisiveWindow !== void 0) this.bytesPerSecond = __privateMethod(this, _SendRate_instances, clamp_fn).call(this, decisiveWindow.rate);
  if (trial === void 0 || trial.test.note(arrived, queueUs) || trial.isOwn !== void 0) return;
  const { test } = trial;
  if (!__privateMethod(this, _SendRate_instances, isLong_fn).call(this, test.queueUs) || test.lastedUs(arrived) < __privateMethod(this, _SendRate_instances, pauseUs_fn).call(this, test.queueUs)) return;
  const [shrunkUs, expectedUs] = test.shrunkUs(arrived, queueUs);
  trial.isOwn = shrunkUs > OWN_SHARE * expectedUs;
};
/** The length of a pause that reveals the owner of the queue. */
pauseUs_fn = function(queueUs) {
  return Math.min(PAUSE_US + PAUSE_NOISES * __privateGet(this, _noise).meanUs, Math.max(0, queueUs));
};
drainedUs_get = function() {
  return DRAINED_US + __privateGet(this, _SendRate_instances, queueTargetUs_get);
};
/** Whether a queue is more than an overshoot of the rate. */
isLong_fn = function(queueUs) {
  return queueUs > LONG_QUEUE_US + __privateGet(this, _SendRate_instances, queueTargetUs_get);
};
/** Handles the end of a round, after the next one has begun. */
adjust_fn = function(nowUs, round, arrived, queueUs) {
  const { span, delivered } = round;
  const { isReliable } = arrived;
  this.queueUs = Math.max(0, round.queueMinUs);
  __privateGet(this, _peak).note(nowUs, delivered);
  __privateSet(this, _mean, __privateGet(this, _mean) + Math.min(1, span / MEAN_SECONDS) * (delivered - __privateGet(this, _mean)));
  const hasQueue = round.queueMinUs > __privateGet(this, _SendRate_instances, queueTargetUs_get);
  __privateSet(this, _queueSinceUs, hasQueue ? __privateGet(this, _queueSinceUs) ?? round.beganUs : void 0);
  const recovers = isReliable && __privateGet(this, _queueSinceUs) !== void 0 && nowUs - __privateGet(this, _queueSinceUs) < RECOVERY_US_MAX;
  if (__privateGet(this, _competitive) !== void 0) __privateMethod(this, _SendRate_instances, compete_fn).call(this, nowUs, __privateGet(this, _competitive), round, arrived, queueUs);
  else if (__privateGet(this, _drain) !== void 0 || !isReliable && __privateMethod(this, _SendRate_instances, police_fn).call(this, nowUs, round, hasQueue)) ;
  else if (recovers || round.followsFall) return;
  else if (hasQueue) {
    if (isReliable && __privateMethod(this, _SendRate_instances, isOfOthers_fn).call(this, round)) __privateMethod(this, _SendRate_instances, beginCompeting_fn).call(this, nowUs, arrived);
    else if (!isReliable && round.wasHeldBack && __privateMethod(this, _SendRate_instances, isLong_fn).call(this, round.queueMinUs)) {
      __privateMethod(this, _SendRate_instances, beginDrain_fn).call(this, nowUs, arrived, queueUs, Delivery.of(round));
    } else if (round.wasHeldBack) {
      __privateSet(this, _queueSinceUs, nowUs);
      __privateMethod(this, _SendRate_instances, fall_fn).call(this, nowUs, round, arrived);
    } else __privateMethod(this, _SendRate_instances, yieldSomewhat_fn).call(this);
  } else {
    __privateSet(this, _falls, Math.max(0, __privateGet(this, _falls) - 1));
    if (round.wasHeldBack) __privateMethod(this, _SendRate_instances, grow_fn).call(this);
  }
  this.bytesPerSecond = __privateMethod(this, _SendRate_instances, clamp_fn).call(this, Math.min(this.bytesPerSecond, __privateGet(this, _policer).allowed(nowUs)));
};
/** Handles the loss of a round. Returns whether this loss, or a test for a policer, determines the rate. */
police_fn = function(nowUs, round, hasQueue) {
  const verdict = __privateGet(this, _policer).note(nowUs, round, hasQueue, this.bytesPerSecond);
  if (verdict.kind === "test") {
    __privateSet(this, _isStarting, false);
    this.bytesPerSecond = Math.min(this.bytesPerSecond, KEPT_SHARE * verdict.bytesPerSecond);
    if (__privateGet(this, _round2) !== void 0) __privateGet(this, _round2).followsFall = true;
  } else if (verdict.kind === "limit") {
    __privateSet(this, _capacity, verdict.bytesPerSecond);
    __privateSet(this, _peak, new Peak());
    __privateSet(this, _probes, 0);
  } else if (verdict.kind === "no limit") {
    this.bytesPerSecond = Math.max(this.bytesPerSecond, verdict.bytesPerSecond);
  }
  return verdict.kind !== "none";
};
queueTargetUs_get = function() {
  const packetUs = PACKET_BYTES_MIN / this.bytesPerSecond * 1e6;
  const targetUs = Math.min(QUEUE_TARGET_US_MAX, Math.max(QUEUE_TARGET_US, packetUs));
  return targetUs + QUEUE_NOISES * __privateGet(this, _noise).meanUs;
};
/** Handles a queue while nothing was held back. It belongs to others, or the peer was slow to read. */
yieldSomewhat_fn = function() {
  this.bytesPerSecond = Math.min(this.bytesPerSecond, Math.max(0.9 * this.bytesPerSecond, INITIAL));
};
/** Handles a standing queue. A rate below the delivery rate empties it within about a tenth of a second. */
fall_fn = function(nowUs, round, arrived) {
  const drain = this.queueUs / 1e6 / (0.1 + round.span);
  const kept = Math.min(KEPT_SHARE, Math.max(0.5, 1 - drain));
  if (__privateGet(this, _round2) !== void 0) __privateGet(this, _round2).followsFall = true;
  if (round.wasMostlyIdle) {
    this.bytesPerSecond *= kept;
    return;
  }
  const { delivered } = round;
  if (__privateGet(this, _falls) === 0) __privateSet(this, _beforeFalls, { delivered, allowed: delivered });
  __privateMethod(this, _SendRate_instances, fallTo_fn).call(this, delivered, kept);
  if (__privateGet(this, _falls) > FALLS_MAX) __privateMethod(this, _SendRate_instances, beginCompeting_fn).call(this, nowUs, arrived);
};
/** Sets the rate to a share of the delivery rate, which is the capacity of the link. */
fallTo_fn = function(delivered, kept) {
  __privateSet(this, _isStarting, false);
  __privateSet(this, _falls, __privateGet(this, _falls) + FALL);
  __privateSet(this, _probes, 0);
  __privateSet(this, _capacity, delivered);
  this.bytesPerSecond = Math.min(this.bytesPerSecond, kept * delivered);
};
/**
 * Whether a long queue stayed although the rate fell before this round, on a carrier that competes by itself: bytes arrive at
 * the rate at which they are sent.
 */
isOfOthers_fn = function(round) {
  const isLower = this.bytesPerSecond < 0.9 * __privateGet(this, _beforeFalls).delivered;
  const hasFallen = __privateGet(this, _falls) > 0 && !round.followsFall && isLower;
  const delivered = round.delivered / this.bytesPerSecond;
  const isSteady = delivered >= OTHERS_DELIVERED_MIN && delivered <= OTHERS_DELIVERED_MAX;
  return hasFallen && isSteady && round.wasHeldBack && __privateMethod(this, _SendRate_instances, isLong_fn).call(this, round.queueMinUs);
};
/** Whether competitive mode ended so recently that the competitors may still be active. */
hasJustEnded_fn = function(nowUs) {
  return __privateGet(this, _ended) !== void 0 && nowUs - __privateGet(this, _ended).atUs < COMPETITIVE_RESUMED_US;
};
/** Begins competitive mode, because others fill the queue. */
beginCompeting_fn = function(nowUs, { sentUs, isReliable }) {
  var _a;
  const ended = __privateMethod(this, _SendRate_instances, hasJustEnded_fn).call(this, nowUs) ? __privateGet(this, _ended) : void 0;
  const before = Math.max(__privateGet(this, _beforeFalls).delivered, (ended == null ? void 0 : ended.rate) ?? 0);
  this.bytesPerSecond = Math.max(this.bytesPerSecond, COMPETITIVE_SHARE * before);
  let window2;
  if (!isReliable) {
    const roundTrip = (nowUs - sentUs) / 1e6;
    const rate = Math.max(this.bytesPerSecond, __privateGet(this, _beforeFalls).allowed);
    (_a = ended == null ? void 0 : ended.window) == null ? void 0 : _a.resume(roundTrip);
    window2 = (ended == null ? void 0 : ended.window) ?? new Window(rate, roundTrip);
    this.bytesPerSecond = __privateMethod(this, _SendRate_instances, clamp_fn).call(this, window2.rate);
  }
  const lastsUs = (ended == null ? void 0 : ended.lastsUs) ?? COMPETITIVE_FIRST_US;
  __privateSet(this, _competitive, new CompetitiveMode(nowUs, lastsUs, ended === void 0, window2));
};
/** Ends competitive mode, because no competitor is left. `rate` is the rate that the sender had in competition. */
endCompeting_fn = function(nowUs, { window: window2 }, rate, lastsUs) {
  __privateSet(this, _falls, 0);
  __privateSet(this, _capacity, void 0);
  this.bytesPerSecond = 0.85 * Math.min(rate, __privateGet(this, _peak).highest);
  __privateGet(this, _rivals).see(nowUs);
  __privateSet(this, _ended, { atUs: nowUs, rate, window: window2, lastsUs });
  __privateSet(this, _competitive, void 0);
};
/**
 * Handles a round in which others keep the queue full. The rate or the window reacts to loss as other senders do. At
 * intervals the sender pauses, or lowers its rate for a trial. If that empties the queue, no competitor is left.
 */
compete_fn = function(nowUs, competitive, round, arrived, queueUs) {
  const { trial, window: window2 } = competitive;
  if (trial !== void 0 && trial.pausesUntilUs === void 0) {
    __privateMethod(this, _SendRate_instances, goOnTrying_fn).call(this, nowUs, competitive, trial, round);
    return;
  }
  if (trial !== void 0 && competitive.judgePause(nowUs, trial)) {
    __privateMethod(this, _SendRate_instances, endCompeting_fn).call(this, nowUs, competitive, trial.rate, competitive.lastsUs);
    return;
  }
  competitive.empty = round.queueMinUs > __privateGet(this, _SendRate_instances, queueTargetUs_get) ? 0 : competitive.empty + 1;
  competitive.hadLongQueue || (competitive.hadLongQueue = __privateMethod(this, _SendRate_instances, isLong_fn).call(this, queueUs));
  if (nowUs >= competitive.untilUs && competitive.trial === void 0) {
    if (window2 !== void 0 && competitive.empty >= EMPTY_ROUNDS) {
      __privateMethod(this, _SendRate_instances, endCompeting_fn).call(this, nowUs, competitive, this.bytesPerSecond, competitive.lastsUs);
      return;
    }
    if (window2 === void 0 || !competitive.hadLongQueue || __privateMethod(this, _SendRate_instances, isLong_fn).call(this, queueUs)) {
      __privateMethod(this, _SendRate_instances, beginTrial_fn).call(this, nowUs, competitive, round, arrived, queueUs);
      return;
    }
  }
  __privateMethod(this, _SendRate_instances, answerToLoss_fn).call(this, nowUs, competitive, round, arrived);
};
beginTrial_fn = function(nowUs, competitive, round, arrived, queueUs) {
  const pauses = competitive.window !== void 0 && __privateMethod(this, _SendRate_instances, isLong_fn).call(this, queueUs);
  const pausesUntilUs = pauses ? nowUs + Math.floor(__privateMethod(this, _SendRate_instances, pauseUs_fn).call(this, queueUs)) : void 0;
  const test = new QueueTest(arrived, queueUs, round.delivered);
  competitive.trial = {
    rate: this.bytesPerSecond,
    rounds: 0,
    empty: 0,
    pausesUntilUs,
    test,
    isOwn: void 0
  };
  competitive.hadLongQueue = false;
  competitive.empty = 0;
  if (!pauses) this.bytesPerSecond = TRIAL_SHARE * Math.min(this.bytesPerSecond, round.delivered);
};
answerToLoss_fn = function(nowUs, competitive, round, arrived) {
  const { window: window2, isStarting } = competitive;
  competitive.hasFallen = round.lostBytes > 0 && !competitive.hasFallen;
  if (competitive.hasFallen) {
    if (window2 === void 0) this.bytesPerSecond *= COMPETITIVE_SHARE;
    else window2.shrink();
  } else if (round.wasHeldBack) {
    if (window2 === void 0)
      this.bytesPerSecond += competitiveGrowth(isStarting, this.bytesPerSecond, round.span);
    else if (isStarting) window2.start(this.budget);
    else window2.grow((nowUs - round.beganUs) / 1e6, this.budget);
  }
  if (arrived.isReliable) {
    this.bytesPerSecond = Math.min(this.bytesPerSecond, COMPETITIVE_HEADROOM * __privateGet(this, _peak).highest);
  }
  competitive.isStarting && (competitive.isStarting = round.lostBytes === 0);
};
/** Judges a trial: if the lower rate emptied the queue, no competitor is left. */
goOnTrying_fn = function(nowUs, competitive, trial, round) {
  const { window: window2, isStarting, nextLastsUs } = competitive;
  trial.rounds += 1;
  trial.empty = round.queueMinUs > __privateGet(this, _SendRate_instances, queueTargetUs_get) ? 0 : trial.empty + 1;
  if (trial.empty === TRIAL_EMPTY || trial.isOwn === true) {
    __privateMethod(this, _SendRate_instances, endCompeting_fn).call(this, nowUs, competitive, trial.rate, nextLastsUs);
  } else if (trial.rounds === TRIAL_ROUNDS || trial.rounds > 1 && trial.isOwn === false) {
    this.bytesPerSecond = trial.rate;
    __privateSet(this, _competitive, new CompetitiveMode(nowUs, nextLastsUs, isStarting, window2));
  }
};
/** Raises the rate after a round in which packets were held back and no queue was found. */
grow_fn = function() {
  this.bytesPerSecond *= __privateGet(this, _isStarting) ? 2 : __privateMethod(this, _SendRate_instances, growth_fn).call(this);
};
growth_fn = function() {
  if (__privateGet(this, _capacity) === void 0) return 1.25;
  const ratio = this.bytesPerSecond / __privateGet(this, _capacity);
  if (ratio < NEAR_SHARE) return Math.min(1.25, 0.9 / ratio);
  const isFaster = __privateGet(this, _peak).highest > FASTER * __privateGet(this, _capacity);
  const step = isFaster ? 2 ** Math.min(4, __privateGet(this, _probes)) : 1;
  __privateSet(this, _probes, __privateGet(this, _probes) + 1);
  if (ratio < SURE_SHARE) return 1 + Math.min(0.25, 0.02 * step);
  return ratio < 1.15 ? 1 + Math.min(0.25, 0.01 * step) : 1.25;
};
clamp_fn = function(bytesPerSecond) {
  return Math.min(Math.max(bytesPerSecond, LEAST), Math.max(this.budget, LEAST));
};
let SendRate = _SendRate;
const GRANULARITY_US = 1e3;
const INITIAL_PROBE_TIMEOUT_US = 1e6;
const ACK_DELAY_MAX_US = 5e3;
const HELD_ACK_DELAY_MAX_US = 1e5;
const ACK_DELAY_FIRST_US = 5e4;
class RoundTrip {
  constructor() {
    __publicField(this, "latestUs");
    __publicField(this, "minimumUs", 0);
    __publicField(this, "smoothedUs", 0);
    __publicField(this, "variationUs", 0);
    /**
     * The longest recent delay of the peer's acknowledgements. The next delay may be a fifth longer.
     */
    __privateAdd(this, _heldUs, ACK_DELAY_FIRST_US);
  }
  /** Records a sample, and the delay that the peer reports. */
  sample(sampleUs, ackDelayUs) {
    const longestUs = Math.max(ackDelayUs, Math.floor(31 * __privateGet(this, _heldUs) / 32), ACK_DELAY_MAX_US);
    __privateSet(this, _heldUs, Math.min(longestUs, HELD_ACK_DELAY_MAX_US));
    if (this.latestUs === void 0) {
      this.latestUs = this.minimumUs = this.smoothedUs = sampleUs;
      this.variationUs = Math.floor(sampleUs / 2);
      return;
    }
    this.latestUs = sampleUs;
    this.minimumUs = Math.min(this.minimumUs, sampleUs);
    const adjusted = sampleUs - ackDelayUs >= this.minimumUs ? sampleUs - ackDelayUs : sampleUs;
    this.variationUs = Math.floor((3 * this.variationUs + Math.abs(this.smoothedUs - adjusted)) / 4);
    this.smoothedUs = Math.floor((7 * this.smoothedUs + adjusted) / 8);
  }
  /**
   * The age after which a packet counts as lost if a later one was acknowledged (section 6.1.2). On
   * a path that reorders packets, where some took as long as `overtakenUs`, the age may be up to
   * twice a round trip.
   */
  lossDelayUs(overtakenUs) {
    const longestUs = Math.max(this.smoothedUs, this.latestUs ?? 0);
    const waitUs = Math.min(Math.floor(9 * overtakenUs / 8), 2 * longestUs);
    return Math.max(GRANULARITY_US, Math.floor(9 * longestUs / 8), waitUs);
  }
  /** Time to wait for any acknowledgement (section 6.2.1). */
  get probeTimeoutUs() {
    if (this.latestUs === void 0) return INITIAL_PROBE_TIMEOUT_US;
    return this.smoothedUs + Math.max(4 * this.variationUs, GRANULARITY_US) + Math.floor(__privateGet(this, _heldUs) * 6 / 5);
  }
}
_heldUs = new WeakMap();
const REORDERING_THRESHOLD = 3;
const MISSED_MAX = 16;
const OVERTAKING_LOSSES = 64;
class SentPackets {
  constructor() {
    __privateAdd(this, _SentPackets_instances);
    /** The packets, in the order of their numbers. */
    __privateAdd(this, _outstanding, /* @__PURE__ */ new Map());
    __privateAdd(this, _next2, 0);
    __privateAdd(this, _inFlightBytes, 0);
    __privateAdd(this, _inFlight, 0);
    __privateAdd(this, _busyPeriod3, 0);
    /** Packets below this number are no longer counted among the bytes in flight. */
    __privateAdd(this, _countedFrom, 0);
    /** Packets declared lost, the latest at the end. They may still arrive. */
    __privateAdd(this, _missed, []);
    /** Remaining losses until the path counts as ordered again. */
    __privateAdd(this, _overtaking, 0);
    /** The longest time that a packet took that arrived after it was declared lost. */
    __privateAdd(this, _overtakenUs, 0);
    __publicField(this, "largestAcknowledged", -1);
  }
  get nextNumber() {
    return __privateGet(this, _next2);
  }
  /** Eliciting packets that are neither acknowledged nor lost. */
  get inFlight() {
    return __privateGet(this, _inFlight);
  }
  get inFlightBytes() {
    return __privateGet(this, _inFlightBytes);
  }
  push(sentUs, bytes, isEliciting, items) {
    const number = __privateWrapper(this, _next2)._++;
    if (!isEliciting) return;
    if (__privateGet(this, _inFlight) === 0) __privateSet(this, _busyPeriod3, __privateGet(this, _busyPeriod3) + 1);
    const busyPeriod = __privateGet(this, _busyPeriod3);
    __privateGet(this, _outstanding).set(number, { number, sentUs, bytes, isEliciting, busyPeriod, items });
    __privateSet(this, _inFlight, __privateGet(this, _inFlight) + 1);
    __privateSet(this, _inFlightBytes, __privateGet(this, _inFlightBytes) + bytes);
  }
  /**
   * From now on the packets in flight do not count among the bytes in flight. Their
   * acknowledgements are still awaited.
   */
  writeOffFlight() {
    __privateSet(this, _countedFrom, __privateGet(this, _next2));
    __privateSet(this, _inFlightBytes, 0);
  }
  /** Removes the packets of these ranges, the largest last. */
  acknowledge(ranges) {
    const acknowledged = [];
    for (const packet of __privateGet(this, _outstanding).values()) {
      if (ranges.some(([low, high]) => packet.number >= low && packet.number <= high))
        acknowledged.push(packet);
      else if (packet.number > ranges[0][1]) break;
    }
    for (const packet of acknowledged) __privateMethod(this, _SentPackets_instances, remove_fn2).call(this, packet);
    this.largestAcknowledged = Math.max(this.largestAcknowledged, ranges[0][1]);
    return acknowledged;
  }
  /** Removes the packets that now count as lost. */
  detectLost(nowUs, rtt) {
    const lost = [];
    for (const packet of __privateGet(this, _outstanding).values()) {
      if (packet.number >= this.largestAcknowledged) break;
      const isFarBelow = __privateGet(this, _overtaking) === 0 && packet.number + REORDERING_THRESHOLD <= this.largestAcknowledged;
      if (isFarBelow || packet.sentUs + rtt.lossDelayUs(__privateGet(this, _overtakenUs)) <= nowUs) lost.push(packet);
    }
    for (const packet of lost) {
      __privateMethod(this, _SentPackets_instances, remove_fn2).call(this, packet);
      __privateSet(this, _overtaking, Math.max(0, __privateGet(this, _overtaking) - 1));
      __privateGet(this, _missed).push(packet);
    }
    if (__privateGet(this, _overtaking) === 0) __privateSet(this, _overtakenUs, 0);
    __privateGet(this, _missed).splice(0, __privateGet(this, _missed).length - MISSED_MAX);
    return lost;
  }
  /**
   * Returns the bytes of the packets in these ranges that were declared lost but had only been
   * overtaken. From then on the age of a packet decides whether it counts as lost, as in RACK (RFC
   * 8985), and not the number of later acknowledgements.
   */
  findMissed(nowUs, ranges) {
    let bytes = 0;
    const isMissed = ({ number }) => !ranges.some(([low, high]) => number >= low && number <= high);
    for (const packet of __privateGet(this, _missed)) {
      if (isMissed(packet)) continue;
      bytes += packet.bytes;
      __privateSet(this, _overtaking, OVERTAKING_LOSSES);
      __privateSet(this, _overtakenUs, Math.max(__privateGet(this, _overtakenUs), nowUs - packet.sentUs));
    }
    if (bytes > 0) __privateSet(this, _missed, __privateGet(this, _missed).filter(isMissed));
    return bytes;
  }
  /** The time at which the next packet will count as lost if nothing arrives. */
  lossAtUs(rtt) {
    for (const packet of __privateGet(this, _outstanding).values()) {
      const isOvertaken = packet.number < this.largestAcknowledged;
      return isOvertaken ? packet.sentUs + rtt.lossDelayUs(__privateGet(this, _overtakenUs)) : void 0;
    }
    return void 0;
  }
  /** The oldest packet that is neither acknowledged nor lost. */
  oldest() {
    for (const packet of __privateGet(this, _outstanding).values()) return packet;
    return void 0;
  }
  /**
   * Removes and returns everything that is neither acknowledged nor lost, for example because the
   * carrier ended.
   */
  takeAll() {
    const all = [...__privateGet(this, _outstanding).values()];
    for (const packet of all) __privateMethod(this, _SentPackets_instances, remove_fn2).call(this, packet);
    __privateSet(this, _missed, []);
    __privateSet(this, _overtaking, 0);
    __privateSet(this, _overtakenUs, 0);
    return all;
  }
}
_outstanding = new WeakMap();
_next2 = new WeakMap();
_inFlightBytes = new WeakMap();
_inFlight = new WeakMap();
_busyPeriod3 = new WeakMap();
_countedFrom = new WeakMap();
_missed = new WeakMap();
_overtaking = new WeakMap();
_overtakenUs = new WeakMap();
_SentPackets_instances = new WeakSet();
remove_fn2 = function(packet) {
  __privateGet(this, _outstanding).delete(packet.number);
  __privateSet(this, _inFlight, __privateGet(this, _inFlight) - 1);
  if (packet.number >= __privateGet(this, _countedFrom)) __privateSet(this, _inFlightBytes, __privateGet(this, _inFlightBytes) - packet.bytes);
};
const PROBE_TIMEOUT_US_MAX = 2e6;
const SILENT_SHARE = 1.5;
const BOLD_US = 3e6;
class Silence {
  constructor() {
    /** The time since which packets are outstanding without any acknowledgement. */
    __privateAdd(this, _sinceUs);
    __privateAdd(this, _probedAtUs, Number.NEGATIVE_INFINITY);
    __privateAdd(this, _probes2, 0);
  }
  packetLeft(nowUs) {
    __privateGet(this, _sinceUs) ?? __privateSet(this, _sinceUs, nowUs);
  }
  acknowledged(nowUs, inFlight) {
    __privateSet(this, _probes2, 0);
    __privateSet(this, _probedAtUs, nowUs);
    __privateSet(this, _sinceUs, inFlight > 0 ? nowUs : void 0);
  }
  /**
   * Returns how long answers had been awaited when a packet arrives, given that no packet arrived since `lastHeardUs`.
   */
  lastedUs(nowUs, lastHeardUs) {
    return __privateGet(this, _sinceUs) === void 0 ? 0 : nowUs - Math.max(__privateGet(this, _sinceUs), lastHeardUs);
  }
  probed(nowUs) {
    __privateSet(this, _probes2, __privateGet(this, _probes2) + 1);
    __privateSet(this, _probedAtUs, nowUs);
  }
  probeAtUs(rtt) {
    if (__privateGet(this, _sinceUs) === void 0) return void 0;
    const base = rtt.probeTimeoutUs;
    const isBold = __privateGet(this, _probedAtUs) - __privateGet(this, _sinceUs) < BOLD_US;
    const doublings = isBold ? 0 : Math.min(__privateGet(this, _probes2), 10);
    const waitUs = Math.min(base * 2 ** doublings, Math.max(base, PROBE_TIMEOUT_US_MAX));
    return Math.max(__privateGet(this, _sinceUs), __privateGet(this, _probedAtUs)) + waitUs;
  }
  /** The time at which the peer counts as silent if outstanding packets are not acknowledged. */
  beginsAtUs(rtt) {
    return __privateGet(this, _sinceUs) === void 0 ? void 0 : __privateGet(this, _sinceUs) + 2 * rtt.probeTimeoutUs;
  }
  /** The share of the rate to use while the peer is silent; `undefined` if it is not. */
  share(nowUs, rtt) {
    if (__privateGet(this, _sinceUs) === void 0 || nowUs < this.beginsAtUs(rtt)) return void 0;
    return SILENT_SHARE * 0.5 ** Math.floor(Math.max(0, nowUs - __privateGet(this, _sinceUs) - BOLD_US) / 1e6);
  }
}
_sinceUs = new WeakMap();
_probedAtUs = new WeakMap();
_probes2 = new WeakMap();
const UNACKNOWLEDGED_SPAN_MAX = 16384;
const OUTAGE_US_MIN = 1e6;
const OUTAGE_PROBES = 3;
const SILENT_BYTES_MAX = 1024 * 1024;
const ROUND_TRIP_US = 1e5;
const LEAD_US = 5e3;
class Recovery {
  constructor(stats, owners, bytesPerSecondMax, isReliable) {
    __privateAdd(this, _Recovery_instances);
    /** Whether the next packet must leave regardless of the rate. */
    __publicField(this, "isProbeDue", false);
    /** Consecutive packets that are not eliciting. */
    __publicField(this, "quietRun", 0);
    __privateAdd(this, _sent, new SentPackets());
    __privateAdd(this, _stats);
    __privateAdd(this, _owners);
    __privateAdd(this, _isReliable);
    __privateAdd(this, _rtt, new RoundTrip());
    __privateAdd(this, _rate);
    __privateAdd(this, _silence, new Silence());
    /** Bytes sent since the silence began. */
    __privateAdd(this, _silentBytes, 0);
    /** Packets below this number were sent before an outage ended, so their times are not samples of the path. */
    __privateAdd(this, _informativeFrom, 0);
    /** Whether no packet after the outage has been acknowledged yet. */
    __privateAdd(this, _followsOutage, false);
    __privateAdd(this, _lastElicitingUs);
    __privateSet(this, _stats, stats);
    __privateSet(this, _owners, owners);
    __privateSet(this, _rate, new SendRate(bytesPerSecondMax));
    __privateSet(this, _isReliable, isReliable);
  }
  get nextNumber() {
    return __privateGet(this, _sent).nextNumber;
  }
  get rtt() {
    return __privateGet(this, _rtt);
  }
  get bytesPerSecond() {
    return __privateGet(this, _rate).bytesPerSecond;
  }
  /** Maximum size of a packet, unless its first message needs more. */
  get packetBytes() {
    return __privateGet(this, _rate).packetBytes(__privateGet(this, _isReliable));
  }
  get inFlightBytes() {
    return __privateGet(this, _sent).inFlightBytes;
  }
  /** The time at which the oldest outstanding packet that needs an acknowledgement left. */
  get outSinceUs() {
    var _a;
    return (_a = __privateGet(this, _sent).oldest()) == null ? void 0 : _a.sentUs;
  }
  /** Begins on another carrier: outstanding packets count as lost, and the measurements of the old path are dropped. */
  begin(isReliable) {
    __privateSet(this, _isReliable, isReliable);
    __privateSet(this, _rtt, new RoundTrip());
    __privateSet(this, _rate, __privateGet(this, _rate).restarted(0.5));
    __privateSet(this, _silence, new Silence());
    __privateSet(this, _followsOutage, false);
    this.isProbeDue = false;
    for (const packet of __privateGet(this, _sent).takeAll()) __privateGet(this, _owners).lost(packet);
  }
  /** Adds the first sample, from the handshake. */
  sample(roundTripUs) {
    __privateGet(this, _rtt).sample(roundTripUs, 0);
  }
  departed(nowUs, bytes, isEliciting, items) {
    __privateGet(this, _sent).push(nowUs, bytes, isEliciting, items);
    const share = __privateMethod(this, _Recovery_instances, silentShare_fn).call(this, nowUs);
    __privateSet(this, _silentBytes, share === void 0 ? 0 : __privateGet(this, _silentBytes) + bytes);
    __privateGet(this, _rate).spend(nowUs, bytes, share, __privateGet(this, _Recovery_instances, hasRoomInFlight_get));
    if (!isEliciting) {
      this.quietRun += 1;
      return;
    }
    this.quietRun = 0;
    this.isProbeDue = false;
    __privateSet(this, _lastElicitingUs, nowUs);
    __privateGet(this, _silence).packetLeft(nowUs);
  }
  /**
   * Handles the arrival of a packet, before any of its frames takes effect. If it ends an outage,
   * the newest values are sent to the peer at once: at the rate that the session had before the outage, without
   * back-off, and regardless of packets in flight.
   */
  packetReceived(nowUs, lastHeardUs) {
    const outageUs = Math.max(OUTAGE_US_MIN, OUTAGE_PROBES * __privateGet(this, _rtt).probeTimeoutUs);
    if (__privateGet(this, _silence).lastedUs(nowUs, lastHeardUs) < outageUs) return;
    __privateGet(this, _silence).acknowledged(nowUs, __privateGet(this, _sent).inFlight);
    __privateGet(this, _sent).writeOffFlight();
    __privateSet(this, _rate, __privateGet(this, _rate).resumed());
    if (!__privateGet(this, _followsOutage)) __privateSet(this, _informativeFrom, __privateGet(this, _sent).nextNumber);
    __privateSet(this, _followsOutage, true);
  }
  /** Records a packet that needs no acknowledgement. */
  departedLast(nowUs, bytes) {
    __privateGet(this, _sent).push(nowUs, bytes, false, []);
  }
  acknowledged(nowUs, ranges, delayUs, leftPeerUs, clock) {
    const acknowledged = __privateGet(this, _sent).acknowledge(ranges);
    __privateGet(this, _rate).found(__privateGet(this, _sent).findMissed(nowUs, ranges));
    for (const packet of acknowledged) {
      __privateGet(this, _stats).packetsAcknowledged += 1;
      __privateGet(this, _owners).arrived(packet);
    }
    const newest = acknowledged[acknowledged.length - 1];
    if ((newest == null ? void 0 : newest.number) === ranges[0][1]) {
      if (__privateMethod(this, _Recovery_instances, silentShare_fn).call(this, nowUs) !== void 0) __privateSet(this, _rate, __privateGet(this, _rate).slowedDown());
      if (newest.number >= __privateGet(this, _informativeFrom))
        __privateMethod(this, _Recovery_instances, learn_fn).call(this, nowUs, acknowledged, delayUs, leftPeerUs, clock);
      __privateGet(this, _silence).acknowledged(nowUs, __privateGet(this, _sent).inFlight);
    }
    this.detectLosses(nowUs);
  }
  detectLosses(nowUs) {
    if (__privateGet(this, _isReliable)) return;
    for (const packet of __privateGet(this, _sent).detectLost(nowUs, __privateGet(this, _rtt))) {
      __privateGet(this, _stats).packetsLost += 1;
      if (packet.number >= __privateGet(this, _informativeFrom)) __privateGet(this, _rate).lost(packet.bytes);
      __privateGet(this, _owners).lost(packet);
    }
  }
  lossAtUs() {
    return __privateGet(this, _isReliable) ? void 0 : __privateGet(this, _sent).lossAtUs(__privateGet(this, _rtt));
  }
  probeAtUs() {
    if (__privateGet(this, _isReliable) || __privateGet(this, _sent).inFlight === 0) return void 0;
    return __privateGet(this, _silence).probeAtUs(__privateGet(this, _rtt));
  }
  /**
   * Prepares a probe, because no acknowledgement arrived. Returns the oldest items, which the next
   * packet carries.
   */
  probe(nowUs) {
    var _a;
    this.isProbeDue = true;
    __privateGet(this, _silence).probed(nowUs);
    __privateGet(this, _stats).probes += 1;
    return ((_a = __privateGet(this, _sent).oldest()) == null ? void 0 : _a.items) ?? [];
  }
  keepAliveAtUs(idleTimeoutUs, lastHeardUs) {
    return (__privateGet(this, _lastElicitingUs) ?? lastHeardUs) + idleTimeoutUs / 3;
  }
  /**
   * The time at which waiting content may leave, with or without a leading event; `undefined` if it
   * waits for an arrival.
   */
  contentAtUs(nowUs, leads) {
    if (__privateGet(this, _sent).nextNumber - __privateGet(this, _sent).largestAcknowledged > UNACKNOWLEDGED_SPAN_MAX) return void 0;
    const isSilent = __privateMethod(this, _Recovery_instances, silentShare_fn).call(this, nowUs) !== void 0;
    const hasFlight = isSilent ? __privateGet(this, _silentBytes) < SILENT_BYTES_MAX : __privateGet(this, _rate).isDraining || __privateGet(this, _Recovery_instances, hasRoomInFlight_get);
    if (hasFlight) return Math.max(nowUs, __privateGet(this, _rate).nextAtUs - (leads ? LEAD_US : 0));
    return isSilent ? void 0 : __privateGet(this, _silence).beginsAtUs(__privateGet(this, _rtt));
  }
  /** Records that content is ready but must wait. */
  holdBack() {
    __privateGet(this, _rate).holdBack();
  }
}
_sent = new WeakMap();
_stats = new WeakMap();
_owners = new WeakMap();
_isReliable = new WeakMap();
_rtt = new WeakMap();
_rate = new WeakMap();
_silence = new WeakMap();
_silentBytes = new WeakMap();
_informativeFrom = new WeakMap();
_followsOutage = new WeakMap();
_lastElicitingUs = new WeakMap();
_Recovery_instances = new WeakSet();
/** Updates time and rate from acknowledged packets, the newest last. */
learn_fn = function(nowUs, acknowledged, delayUs, leftPeerUs, clock) {
  const newest = acknowledged[acknowledged.length - 1];
  __privateSet(this, _followsOutage, false);
  __privateGet(this, _rtt).sample(Math.floor(nowUs - newest.sentUs), delayUs);
  const arrivedUs = leftPeerUs - delayUs;
  clock.sample(newest.sentUs, arrivedUs, leftPeerUs, nowUs);
  const { number, sentUs, busyPeriod, bytes: packetBytes } = newest;
  const { nextNumber } = this;
  const bytes = acknowledged.reduce((sum, packet) => sum + packet.bytes, 0);
  const isReliable = __privateGet(this, _isReliable);
  __privateGet(this, _rate).acknowledged(nowUs, {
    number,
    nextNumber,
    sentUs,
    arrivedUs,
    packetBytes,
    bytes,
    busyPeriod,
    isReliable
  });
};
hasRoomInFlight_get = function() {
  const { minimumUs, smoothedUs } = __privateGet(this, _rtt);
  const [leastUs, recentUs] = [minimumUs || ROUND_TRIP_US, smoothedUs || ROUND_TRIP_US];
  return __privateGet(this, _sent).inFlightBytes < __privateGet(this, _rate).flightBytesMax(leastUs, recentUs, __privateGet(this, _isReliable));
};
/** The share of the rate to use while the peer is silent. */
silentShare_fn = function(nowUs) {
  return __privateGet(this, _isReliable) ? void 0 : __privateGet(this, _silence).share(nowUs, __privateGet(this, _rtt));
};
const UNREAD_MAX = 64;
const HEAD_BYTES = 3;
class ReplicationLanes {
  constructor() {
    __privateAdd(this, _sources, /* @__PURE__ */ new Map());
    __privateAdd(this, _unread, []);
    /** The time at which the carrier received the current packet. */
    __publicField(this, "arrivedAtUs", 0);
  }
  /** Whether a source has content for a packet now. */
  get hasMore() {
    for (const source of __privateGet(this, _sources).values()) if (source.hasMore) return true;
    return false;
  }
  set(lane, source) {
    if (source === void 0) __privateGet(this, _sources).delete(lane);
    else __privateGet(this, _sources).set(lane, source);
  }
  fill(packet, builder, items) {
    for (const [lane, source] of __privateGet(this, _sources)) {
      const payload = fillFrom(source, packet, builder.roomToShare) ?? fillFrom(source, packet, builder.room);
      if (payload === void 0) continue;
      builder.frame({ type: "replication", lane, payload });
      items.push({ type: "replication", lane });
    }
  }
  settled(lane, packet, arrived) {
    var _a;
    (_a = __privateGet(this, _sources).get(lane)) == null ? void 0 : _a.settled(packet, arrived);
  }
  /**
   * Stores a payload until it is read. If too many payloads of the lane are unread, drops the
   * oldest and returns true. The other frames of the packet are delivered.
   */
  received(lane, packet, payload) {
    const ofLane = __privateGet(this, _unread).filter((unread) => unread.lane === lane);
    const givesUp = ofLane.length >= UNREAD_MAX;
    if (givesUp) __privateGet(this, _unread).splice(__privateGet(this, _unread).indexOf(ofLane[0]), 1);
    __privateGet(this, _unread).push({ lane, packet, payload, arrivedAtUs: this.arrivedAtUs });
    return givesUp;
  }
  /** The next bytes of the peer's sources, with the number of the packet that carried them. */
  take() {
    return __privateGet(this, _unread).shift();
  }
}
_sources = new WeakMap();
_unread = new WeakMap();
function fillFrom(source, packet, frameBytes) {
  const room = frameBytes - HEAD_BYTES;
  if (room <= 0 || !source.hasMore) return void 0;
  const payload = source.fill(packet, room);
  if (payload === void 0 || payload.length === 0) return void 0;
  if (payload.length > room)
    throw new NowcastError("misuse", "a replication source must keep to the room it was given");
  return payload;
}
function newStats() {
  const dropped = {
    empty: 0,
    malformed: 0,
    duplicate: 0,
    ancient: 0,
    unproven: 0,
    misplaced: 0,
    closed: 0,
    stale: 0,
    late: 0,
    lateReplies: 0,
    unread: 0,
    notices: 0
  };
  return {
    packetsSent: 0,
    bytesSent: 0,
    packetsReceived: 0,
    bytesReceived: 0,
    packetsAcknowledged: 0,
    packetsLost: 0,
    probes: 0,
    statesSent: 0,
    eventsSent: 0,
    resent: 0,
    dropped
  };
}
const QUIET_RUN_MAX = 64;
const NOTICES_UNREAD_MAX = 4096;
const _Session = class _Session {
  constructor(config, carrier, entropy, nowUs, role) {
    __privateAdd(this, _Session_instances);
    __publicField(this, "stats", newStats());
    __publicField(this, "clock", new PeerClock());
    __privateAdd(this, _writer, new PacketWriter(65536));
    __privateAdd(this, _lanes);
    __privateAdd(this, _notices, []);
    /** The sources of this end, and the payloads of the peer's sources. */
    __publicField(this, "replication", new ReplicationLanes());
    __privateAdd(this, _handshake);
    __privateAdd(this, _recovery);
    __privateAdd(this, _acks, new Acknowledger());
    __privateAdd(this, _redundancy);
    __privateAdd(this, _commands2, new Commands());
    __privateAdd(this, _carrier);
    __privateAdd(this, _nextId, 0);
    __privateAdd(this, _lastHeardUs);
    checkLimits(config.limits);
    __privateSet(this, _lanes, new Lanes(config, this.stats));
    __privateSet(this, _carrier, carrier);
    __privateSet(this, _handshake, new Handshake(config, entropy, nowUs, role, (notice) => __privateMethod(this, _Session_instances, notify_fn).call(this, notice)));
    const owners = new Owners(__privateGet(this, _lanes), __privateGet(this, _handshake), this.replication);
    __privateSet(this, _recovery, new Recovery(this.stats, owners, config.bytesPerSecondMax, carrier.isReliable));
    __privateSet(this, _redundancy, new Redundancy(config.redundancyBitsPerSecond / 8));
    __privateSet(this, _lastHeardUs, nowUs);
  }
  /** Makes the session of an initiator. `entropy` is 48 random bytes, which are used for nothing else. */
  static connect(nowUs, carrier, entropy, config = {}) {
    return new _Session({ ...DEFAULT_CONFIG, ...config }, carrier, entropy, nowUs, "initiator");
  }
  /** Makes the session of an acceptor, which answers the first HELLO. */
  static accept(nowUs, carrier, entropy, config = {}) {
    return new _Session({ ...DEFAULT_CONFIG, ...config }, carrier, entropy, nowUs, "acceptor");
  }
  get isOpen() {
    return __privateGet(this, _handshake).isOpen;
  }
  get isClosed() {
    return __privateGet(this, _handshake).isClosed;
  }
  /** Whether no packet is left to send, not even a CLOSE. */
  get isOver() {
    return __privateGet(this, _handshake).phase.name === "closed";
  }
  get isDetached() {
    return __privateGet(this, _handshake).phase.name === "detached";
  }
  /** Whether the session accepts packets of its carrier. A carrier that was silent for too long is included. */
  get isAttached() {
    return __privateGet(this, _handshake).isAttached;
  }
  /** Whether everything that was put is known to have arrived. */
  get isSettled() {
    return __privateGet(this, _lanes).isSettled;
  }
  /** The values with which a peer resumes this session on another carrier. */
  get ticket() {
    return __privateGet(this, _handshake).ticket;
  }
  get roundTripUs() {
    const { rtt } = __privateGet(this, _recovery);
    return rtt.latestUs === void 0 ? void 0 : rtt.smoothedUs;
  }
  get bytesPerSecond() {
    return __privateGet(this, _recovery).bytesPerSecond;
  }
  get gauges() {
    return readGauges(this.stats, __privateGet(this, _recovery), __privateGet(this, _lanes));
  }
  /** The time at which the last packet of the peer was accepted. */
  get lastHeardUs() {
    return __privateGet(this, _lastHeardUs);
  }
  /** Time since the last packet while an answer is due, in microseconds; 0 if none is due. */
  silentForUs(nowUs) {
    const { phase } = __privateGet(this, _handshake);
    const sinceUs = phase.name === "connecting" ? phase.attempt.beganUs : __privateGet(this, _recovery).outSinceUs;
    if (sinceUs === void 0 || phase.name !== "connecting" && phase.name !== "open") return 0;
    return Math.max(0, nowUs - Math.max(sinceUs, __privateGet(this, _lastHeardUs)));
  }
  /** Time to wait for an acknowledgement before a probe. */
  get probeTimeoutUs() {
    return __privateGet(this, _recovery).rtt.probeTimeoutUs;
  }
  /** The shortest round trip that was measured on this carrier; 0 before the first measurement. */
  get shortestRoundTripUs() {
    return __privateGet(this, _recovery).rtt.minimumUs;
  }
  /** Returns why a HELLO may not resume this session. */
  checkResume(resume) {
    return __privateGet(this, _handshake).checkResume(resume);
  }
  /** Puts the newest value of a key. It replaces a value that has not left. */
  putState(nowUs, lane, key, value) {
    const count = toUInt64(key);
    if (count === 0)
      throw new NowcastError("misuse", "key 0 is reserved for events; states have keys from 1 on");
    if (value.length > __privateGet(this, _Session_instances, peer_get).messageBytesMax) return "too large";
    return __privateGet(this, _lanes).sending(lane, __privateGet(this, _Session_instances, peer_get)).queue.putState(count, { value, producedAtUs: nowUs });
  }
  /** Puts an event, delivered once and in order. */
  putEvent(nowUs, lane, value) {
    return __privateMethod(this, _Session_instances, put_fn).call(this, nowUs, lane, EventKind.event, void 0, value, void 0);
  }
  /**
   * Puts a command, answered by a reply notice with the returned id, or by a notice that it timed out. From then on it
   * is not delivered.
   */
  command(nowUs, lane, value, deadlineUs) {
    return __privateMethod(this, _Session_instances, put_fn).call(this, nowUs, lane, EventKind.command, void 0, value, deadlineUs);
  }
  /** Puts the reply to a received command, which is given by its lane and number. */
  reply(nowUs, lane, number, value) {
    return __privateMethod(this, _Session_instances, put_fn).call(this, nowUs, lane, EventKind.reply, number, value, void 0);
  }
  /** Lets a source fill the remaining room of packets. Without a source, replication stops. */
  replicate(lane, source) {
    checkLane(lane, __privateGet(this, _Session_instances, peer_get));
    this.replication.set(lane, source);
  }
  /** Returns the next message for the application. With `isWanted`, only lanes for which it returns true count. */
  receive(nowUs, isWanted) {
    for (let next = __privateGet(this, _lanes).take(nowUs, isWanted); next; next = __privateGet(this, _lanes).take(nowUs, isWanted)) {
      const { lane, message } = next;
      if (message.type === "event" && message.kind === EventKind.reply) __privateMethod(this, _Session_instances, replied_fn).call(this, lane, message);
      else return { ...message, lane };
    }
    return void 0;
  }
  /**
   * Turns replies into notices if no unread message precedes them. This is for an application that waits for
   * replies and does not call {@link receive}.
   */
  receiveReplies(nowUs) {
    for (let next = __privateGet(this, _lanes).takeReply(nowUs); next; next = __privateGet(this, _lanes).takeReply(nowUs)) {
      __privateMethod(this, _Session_instances, replied_fn).call(this, next.lane, next.reply);
    }
  }
  /** The next notice. If more than 4,096 are unread, the oldest are dropped and counted. */
  pollNotice() {
    return __privateGet(this, _notices).shift();
  }
  /** Ends the session and sends the peer the reason. */
  close(nowUs, code, reason) {
    __privateGet(this, _handshake).end(nowUs, { code, reason, by: "us" });
  }
  /** Handles the end of the carrier. The session waits for another one. */
  detach(nowUs) {
    __privateGet(this, _handshake).detach(nowUs);
  }
  /** Attaches a new carrier. An initiator asks to resume on it; an acceptor waits for HELLO. */
  attach(nowUs, carrier, entropy, role) {
    __privateGet(this, _handshake).attach(nowUs, entropy, role);
    __privateSet(this, _carrier, carrier);
    __privateGet(this, _acks).sent();
    __privateGet(this, _recovery).begin(carrier.isReliable);
    __privateSet(this, _lastHeardUs, nowUs);
  }
  /** Requests an answer from the peer with the next packet. */
  ping() {
    if (this.isOpen) __privateGet(this, _recovery).isProbeDue = true;
  }
  /**
   * Handles a packet that the current carrier received at `arrivedAtUs`. The packet may be any bytes. The session keeps
   * views of it, so the caller must not change it afterwards.
   */
  handlePacket(nowUs, bytes, arrivedAtUs = nowUs) {
    this.replication.arrivedAtUs = arrivedAtUs;
    const { dropped } = this.stats;
    if (!this.isAttached) {
      dropped.closed += 1;
      return;
    }
    if (bytes.length === 0) {
      dropped.empty += 1;
      return;
    }
    this.stats.packetsReceived += 1;
    this.stats.bytesReceived += bytes.length;
    try {
      const packet = readPacket(bytes);
      if (packet.type === "data") __privateMethod(this, _Session_instances, onData_fn).call(this, nowUs, packet);
      else __privateMethod(this, _Session_instances, onHandshake_fn).call(this, nowUs, packet);
    } catch (error) {
      if (error instanceof PeerFault)
        __privateGet(this, _handshake).end(nowUs, { code: error.code, reason: error.message, by: "us" });
      else if (!(error instanceof MalformedPacket)) throw error;
      else if (!this.isOpen) {
        dropped.malformed += 1;
        if (__privateGet(this, _carrier).isReliable) __privateGet(this, _handshake).refuseMalformed(bytes, error.field);
      } else __privateGet(this, _handshake).end(nowUs, { code: CloseCode.malformed, reason: error.field, by: "us" });
    }
  }
  /** Handles due timers. Early or additional calls are harmless. */
  handleTimeout(nowUs) {
    __privateMethod(this, _Session_instances, expire_fn).call(this, nowUs);
    if (this.isOpen) __privateMethod(this, _Session_instances, openTimeout_fn).call(this, nowUs);
    else __privateGet(this, _handshake).handleTimeout(nowUs, __privateGet(this, _lastHeardUs));
  }
  /** The time at which to call {@link handleTimeout} and {@link pollPacket} if nothing happens earlier. */
  pollTimeout(nowUs) {
    const dueUs = this.isOpen ? __privateMethod(this, _Session_instances, openDueUs_fn).call(this, nowUs) : __privateGet(this, _handshake).dueUs(nowUs, __privateGet(this, _lastHeardUs));
    return earliest([dueUs, this.isClosed ? void 0 : __privateGet(this, _commands2).nextUs]);
  }
  /** Returns the next packet to send now. Call it only when the carrier accepts a packet at once. */
  pollPacket(nowUs) {
    __privateGet(this, _writer).clear();
    let wrote = false;
    if (this.isOpen) wrote = __privateMethod(this, _Session_instances, writeData_fn).call(this, nowUs);
    else if (this.isClosed) wrote = __privateMethod(this, _Session_instances, writeClose_fn).call(this, nowUs);
    else wrote = __privateGet(this, _handshake).write(nowUs, __privateGet(this, _writer));
    if (!wrote) return void 0;
    this.stats.packetsSent += 1;
    this.stats.bytesSent += __privateGet(this, _writer).length;
    return __privateGet(this, _writer).finish();
  }
};
_writer = new WeakMap();
_lanes = new WeakMap();
_notices = new WeakMap();
_handshake = new WeakMap();
_recovery = new WeakMap();
_acks = new WeakMap();
_redundancy = new WeakMap();
_commands2 = new WeakMap();
_carrier = new WeakMap();
_nextId = new WeakMap();
_lastHeardUs = new WeakMap();
_Session_instances = new WeakSet();
peer_get = function() {
  return __privateGet(this, _handshake).peer;
};
put_fn = function(nowUs, lane, kind, answers, value, deadlineUs) {
  if (value.length > __privateGet(this, _Session_instances, peer_get).messageBytesMax) return "too large";
  if (deadlineUs !== void 0 && __privateGet(this, _commands2).isFull) return "full";
  const id = __privateGet(this, _nextId);
  const outcome = __privateGet(this, _lanes).sending(lane, __privateGet(this, _Session_instances, peer_get)).queue.putEvent({ id, kind, answers, value });
  if (outcome !== "queued") return outcome;
  __privateSet(this, _nextId, __privateGet(this, _nextId) + 1);
  if (deadlineUs !== void 0) __privateGet(this, _commands2).add({ atUs: nowUs + deadlineUs, lane, id });
  return id;
};
notify_fn = function(notice) {
  if (__privateGet(this, _notices).length >= NOTICES_UNREAD_MAX) {
    __privateGet(this, _notices).shift();
    this.stats.dropped.notices += 1;
  }
  __privateGet(this, _notices).push(notice);
};
replied_fn = function(lane, { answers, value }) {
  const command = __privateGet(this, _commands2).answered(lane, answers);
  if (command === void 0) this.stats.dropped.lateReplies += 1;
  else __privateMethod(this, _Session_instances, notify_fn).call(this, { type: "reply", lane, command, value });
};
onHandshake_fn = function(nowUs, packet) {
  switch (packet.type) {
    case "hello":
      return __privateMethod(this, _Session_instances, onHello_fn).call(this, nowUs, packet);
    case "welcome":
      return __privateMethod(this, _Session_instances, onWelcome_fn).call(this, nowUs, packet);
    case "refuse":
      if (!__privateGet(this, _handshake).onRefuse(nowUs, packet, __privateGet(this, _carrier).isReliable))
        this.stats.dropped.misplaced += 1;
      return;
  }
};
onHello_fn = function(nowUs, hello) {
  const outcome = __privateGet(this, _handshake).onHello(hello);
  if (outcome === "misplaced") this.stats.dropped.misplaced += 1;
  if (outcome !== "accepted") return;
  __privateSet(this, _lastHeardUs, nowUs);
  this.clock.guess(nowUs, Number(hello.clock));
};
onWelcome_fn = function(nowUs, welcome) {
  if (!__privateGet(this, _handshake).onWelcome(welcome)) {
    this.stats.dropped.misplaced += 1;
    return;
  }
  const { clock, helloClock } = welcome;
  __privateSet(this, _lastHeardUs, nowUs);
  this.clock.guess(nowUs, Number(clock));
  if (helloClock > nowUs) return;
  this.clock.sample(Number(helloClock), Number(clock), Number(clock), nowUs);
  __privateGet(this, _recovery).sample(Math.floor(nowUs - Number(helloClock)));
};
onData_fn = function(nowUs, packet) {
  const { dropped } = this.stats;
  if (this.isClosed) {
    dropped.closed += 1;
    __privateGet(this, _handshake).onDataWhileClosing(packet.frames);
    return;
  }
  const wasOpen = this.isOpen;
  if (!__privateGet(this, _handshake).onData(packet.frames)) {
    dropped.unproven += 1;
    return;
  }
  if (!wasOpen) __privateGet(this, _recovery).isProbeDue = true;
  const number = unfoldNumber(packet.numberLow, __privateGet(this, _acks).largest);
  const arrival = __privateGet(this, _acks).judge(number);
  if (arrival !== "new") {
    dropped[arrival] += 1;
    return;
  }
  for (const frame of packet.frames) if (frame.type === "replication") __privateGet(this, _lanes).receiving(frame.lane);
  const ranges = packet.ack && unfoldAcknowledgement(packet.ack, __privateGet(this, _recovery).nextNumber - 1);
  const isEliciting = packet.frames.some(({ type }) => type !== "padding" && type !== "close");
  __privateGet(this, _acks).arrived(nowUs, number, isEliciting, __privateGet(this, _carrier).isReliable, __privateGet(this, _lastHeardUs));
  __privateGet(this, _recovery).packetReceived(nowUs, __privateGet(this, _lastHeardUs));
  __privateSet(this, _lastHeardUs, nowUs);
  const leftPeerUs = this.clock.unfold(packet.time, nowUs);
  if (packet.ack && ranges) {
    const delayUs = Number(packet.ack.delay) * WIRE_UNIT_US;
    __privateGet(this, _recovery).acknowledged(nowUs, ranges, delayUs, leftPeerUs, this.clock);
  }
  const leftUs = this.clock.toOurs(leftPeerUs, nowUs);
  for (const frame of packet.frames) {
    if (frame.type !== "replication") __privateMethod(this, _Session_instances, onFrame_fn).call(this, nowUs, leftUs, frame);
    else if (this.replication.received(frame.lane, number, frame.payload)) dropped.unread += 1;
  }
};
onFrame_fn = function(nowUs, leftUs, frame) {
  switch (frame.type) {
    case "states":
      return __privateGet(this, _lanes).receiving(frame.lane).receiveStates(frame, leftUs, nowUs);
    case "state_part":
      return __privateGet(this, _lanes).receiving(frame.lane).receiveStatePart(frame, leftUs, nowUs);
    case "event":
      return __privateGet(this, _lanes).receiving(frame.lane).receiveEvent(frame, nowUs);
    case "event_part":
      return __privateGet(this, _lanes).receiving(frame.lane).receiveEventPart(frame, nowUs);
    case "window":
      return __privateGet(this, _lanes).windowReceived(frame.lane, frame.consumed, __privateGet(this, _Session_instances, peer_get));
    case "close":
      return __privateGet(this, _handshake).end(nowUs, { code: frame.code, reason: frame.reason, by: "peer" });
  }
};
openTimeout_fn = function(nowUs) {
  if (nowUs - __privateGet(this, _lastHeardUs) >= __privateGet(this, _handshake).idleTimeoutUs) {
    __privateGet(this, _handshake).fellSilent(nowUs);
    __privateGet(this, _recovery).isProbeDue = false;
    return;
  }
  __privateGet(this, _recovery).detectLosses(nowUs);
  const probeAtUs = __privateGet(this, _recovery).probeAtUs();
  if (probeAtUs === void 0 || nowUs < probeAtUs) return;
  for (const item of __privateGet(this, _recovery).probe(nowUs)) {
    if (item.type === "message") item.message.probe(item.part, item.generation);
  }
  __privateGet(this, _lanes).probe();
};
expire_fn = function(nowUs) {
  for (const { lane, id } of __privateGet(this, _commands2).takeDue(nowUs)) {
    __privateGet(this, _lanes).expire(lane, id);
    __privateMethod(this, _Session_instances, notify_fn).call(this, { type: "command timed out", lane, command: id });
  }
};
openDueUs_fn = function(nowUs) {
  var _a;
  const must = __privateGet(this, _recovery).isProbeDue || ((_a = __privateGet(this, _handshake).proof) == null ? void 0 : _a.wasSent) === false;
  return earliest([
    must ? nowUs : void 0,
    __privateGet(this, _acks).dueUs(nowUs),
    __privateGet(this, _recovery).lossAtUs(),
    __privateMethod(this, _Session_instances, contentAtUs_fn).call(this, nowUs),
    __privateGet(this, _lanes).windowDueUs(nowUs),
    __privateGet(this, _recovery).probeAtUs(),
    __privateMethod(this, _Session_instances, repeatAtUs_fn).call(this, nowUs),
    __privateGet(this, _Session_instances, keepAliveAtUs_get),
    __privateGet(this, _lastHeardUs) + __privateGet(this, _handshake).idleTimeoutUs
  ]);
};
keepAliveAtUs_get = function() {
  return __privateGet(this, _recovery).keepAliveAtUs(__privateGet(this, _handshake).idleTimeoutUs, __privateGet(this, _lastHeardUs));
};
repeatAtUs_fn = function(nowUs) {
  if (__privateGet(this, _carrier).isReliable) return void 0;
  return __privateGet(this, _redundancy).dueUs(nowUs, (lane, number) => __privateGet(this, _lanes).canRepeat(lane, number));
};
contentAtUs_fn = function(nowUs) {
  const plan = __privateGet(this, _lanes).plan(__privateGet(this, _Session_instances, peer_get));
  return __privateMethod(this, _Session_instances, plannedAtUs_fn).call(this, nowUs, plan, __privateMethod(this, _Session_instances, eventLeads_fn).call(this, nowUs, plan));
};
plannedAtUs_fn = function(nowUs, plan, leads) {
  const hasContent = plan.lanes.length > 0 || this.replication.hasMore;
  return hasContent ? __privateGet(this, _recovery).contentAtUs(nowUs, leads) : void 0;
};
/** Whether a small event is sent first, and packets are kept small because the link is slow. */
eventLeads_fn = function(nowUs, plan) {
  if (__privateGet(this, _carrier).isReliable || __privateGet(this, _recovery).packetBytes >= __privateGet(this, _Session_instances, packetBytesMax_get)) return false;
  return plan.leadsWithEvent && __privateGet(this, _redundancy).canLead(nowUs);
};
writeData_fn = function(nowUs) {
  const isDue = (atUs) => atUs !== void 0 && atUs <= nowUs;
  const { proof } = __privateGet(this, _handshake);
  const plan = __privateGet(this, _lanes).plan(__privateGet(this, _Session_instances, peer_get));
  const leads = __privateMethod(this, _Session_instances, eventLeads_fn).call(this, nowUs, plan);
  const contentAtUs = __privateMethod(this, _Session_instances, plannedAtUs_fn).call(this, nowUs, plan, leads);
  if (contentAtUs !== void 0 && contentAtUs > nowUs) __privateGet(this, _recovery).holdBack();
  const ack = isDue(__privateGet(this, _acks).dueUs(nowUs));
  const content = isDue(contentAtUs);
  const isProbe = __privateGet(this, _recovery).isProbeDue;
  const ping = isProbe || isDue(__privateGet(this, _Session_instances, keepAliveAtUs_get)) || ack && __privateGet(this, _recovery).quietRun >= QUIET_RUN_MAX;
  const window2 = isDue(__privateGet(this, _lanes).windowDueUs(nowUs));
  const repeat = isDue(__privateMethod(this, _Session_instances, repeatAtUs_fn).call(this, nowUs));
  const proves = (proof == null ? void 0 : proof.wasSent) === false;
  if (!(ack || content || ping || window2 || repeat || proves)) return false;
  const acknowledgement = __privateGet(this, _acks).toSend(nowUs);
  const number = __privateGet(this, _recovery).nextNumber;
  writeDataHead(__privateGet(this, _writer), {
    numberLow: number % 65536,
    time: toWireTime(nowUs),
    ack: acknowledgement
  });
  const builder = new PacketBuilder(__privateGet(this, _writer), __privateGet(this, _Session_instances, packetBytesMax_get));
  const items = [];
  if (proof) {
    proof.wasSent = true;
    builder.frame({ type: "proof", proof: proof.proof });
    items.push({ type: "proof" });
  }
  const context = __privateMethod(this, _Session_instances, sendContext_fn).call(this, nowUs, builder, items);
  if (window2 || content) __privateGet(this, _lanes).writeWindows(context);
  if (!__privateGet(this, _carrier).isReliable) __privateGet(this, _lanes).repeat(context, __privateGet(this, _redundancy));
  if (content || isProbe) {
    const isAlone = content && leads;
    builder.beginContent(isAlone ? __privateGet(this, _writer).length + LEADING_BYTES : __privateGet(this, _recovery).packetBytes);
    if (isAlone) __privateGet(this, _redundancy).led();
    for (const lane of __privateGet(this, _lanes).inTurn(plan)) lane.fill(context, __privateGet(this, _Session_instances, peer_get));
    this.replication.fill(number, builder, items);
  }
  if ((ping || proves) && !builder.isEliciting) builder.frame({ type: "ping" });
  if (!builder.isEliciting && !ack) return false;
  __privateGet(this, _recovery).departed(nowUs, __privateGet(this, _writer).length, builder.isEliciting, items);
  if (acknowledgement !== void 0) __privateGet(this, _acks).sent();
  return true;
};
packetBytesMax_get = function() {
  return Math.min(__privateGet(this, _carrier).packetBytesMax, __privateGet(this, _Session_instances, peer_get).packetBytesMax);
};
sendContext_fn = function(nowUs, builder, items) {
  const onBound = (lane, event) => {
    if (!__privateGet(this, _carrier).isReliable) __privateGet(this, _redundancy).bound(nowUs, lane, event);
    const isCommand = event.kind === EventKind.command && event.id !== void 0;
    if (isCommand) __privateGet(this, _commands2).numbered(lane, event.number, event.id);
  };
  return { nowUs, builder, items, counters: this.stats, onBound };
};
writeClose_fn = function(nowUs) {
  const closed = __privateGet(this, _handshake).takeClose();
  if (closed === void 0) return false;
  const numberLow = __privateGet(this, _recovery).nextNumber % 65536;
  writeDataHead(__privateGet(this, _writer), { numberLow, time: toWireTime(nowUs), ack: void 0 });
  const { code, reason } = closed;
  new PacketBuilder(__privateGet(this, _writer), __privateGet(this, _Session_instances, packetBytesMax_get)).frame({ type: "close", code, reason });
  __privateGet(this, _recovery).departedLast(nowUs, __privateGet(this, _writer).length);
  return true;
};
let Session = _Session;
const EVENT_LANE = 0;
const STATE_LANE = 1;
const CONFIG = { laneClasses: [0, 1] };
const AGAIN_US = 20;
class SessionTransport {
  /** `forth` leads to the receiver, `back` to the sender. */
  constructor(timeline, forth, back, deliver, seed) {
    __privateAdd(this, _SessionTransport_instances);
    __privateAdd(this, _timeline2);
    __privateAdd(this, _links);
    __privateAdd(this, _sessions);
    __privateAdd(this, _wakesAtUs, [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
    __privateAdd(this, _deliver2);
    /** Whether states and events share a lane, so that an event is a barrier between states. */
    __publicField(this, "eventsWait", false);
    __privateSet(this, _timeline2, timeline);
    __privateSet(this, _links, [forth, back]);
    __privateSet(this, _deliver2, deliver);
    const random = createRandom(seed);
    const entropy = () => Uint8Array.from({ length: 48 }, () => Math.floor(random() * 256));
    __privateSet(this, _sessions, [
      Session.connect(timeline.nowUs, CARRIER_TRAITS.datagrams, entropy(), CONFIG),
      Session.accept(timeline.nowUs, CARRIER_TRAITS.datagrams, entropy(), CONFIG)
    ]);
    __privateMethod(this, _SessionTransport_instances, run_fn).call(this, 0);
    __privateMethod(this, _SessionTransport_instances, run_fn).call(this, 1);
  }
  get bytes() {
    return __privateGet(this, _links)[0].bytes;
  }
  /** States that were replaced before they left. */
  get superseded() {
    return __privateGet(this, _sessions)[0].gauges.superseded;
  }
  put(messages) {
    const { nowUs } = __privateGet(this, _timeline2);
    const [sender] = __privateGet(this, _sessions);
    for (const { type, putAtUs, ...message } of messages) {
      const value = new Uint8Array(type === "state" ? STATE_BYTES : EVENT_BYTES);
      new DataView(value.buffer).setFloat64(0, putAtUs);
      if ("key" in message) sender.putState(nowUs, STATE_LANE, message.key, value);
      else sender.putEvent(nowUs, this.eventsWait ? STATE_LANE : EVENT_LANE, value);
    }
    __privateMethod(this, _SessionTransport_instances, run_fn).call(this, 0);
  }
}
_timeline2 = new WeakMap();
_links = new WeakMap();
_sessions = new WeakMap();
_wakesAtUs = new WeakMap();
_deliver2 = new WeakMap();
_SessionTransport_instances = new WeakSet();
/** Handles timers, sends packets, and shows received messages, in the order of calls that a session requires. */
run_fn = function(end) {
  const session = __privateGet(this, _sessions)[end];
  const { nowUs } = __privateGet(this, _timeline2);
  session.handleTimeout(nowUs);
  for (let packet = session.pollPacket(nowUs); packet; packet = session.pollPacket(nowUs)) {
    __privateMethod(this, _SessionTransport_instances, send_fn2).call(this, end, packet);
  }
  for (let message = session.receive(nowUs); message; message = session.receive(nowUs)) {
    const { value } = message;
    const putAtUs = new DataView(value.buffer, value.byteOffset).getFloat64(0);
    if (message.type === "state") __privateGet(this, _deliver2).call(this, { type: "state", key: Number(message.key), putAtUs });
    else __privateGet(this, _deliver2).call(this, { type: "event", putAtUs });
  }
  while (session.pollNotice()) {
  }
  __privateMethod(this, _SessionTransport_instances, wakeAt_fn).call(this, end, Math.max(session.pollTimeout(nowUs) ?? Number.POSITIVE_INFINITY, nowUs + AGAIN_US));
};
send_fn2 = function(end, packet) {
  const other = end === 0 ? 1 : 0;
  __privateGet(this, _links)[end].send(packet.length + DATAGRAM_HEADER_BYTES, () => {
    __privateGet(this, _sessions)[other].handlePacket(__privateGet(this, _timeline2).nowUs, packet);
    __privateMethod(this, _SessionTransport_instances, run_fn).call(this, other);
  });
};
wakeAt_fn = function(end, atUs) {
  __privateGet(this, _wakesAtUs)[end] = atUs;
  if (atUs === Number.POSITIVE_INFINITY) return;
  __privateGet(this, _timeline2).at(atUs, () => {
    if (__privateGet(this, _wakesAtUs)[end] === atUs) __privateMethod(this, _SessionTransport_instances, run_fn).call(this, end);
  });
};
const BETA = 0.7;
const C = 0.4;
const FIRST_WINDOW = 10;
const WINDOW_MIN = 2;
class CubicWindow {
  constructor() {
    __publicField(this, "segments", FIRST_WINDOW);
    __privateAdd(this, _slowStartUntil, Number.POSITIVE_INFINITY);
    /** The window before the last reduction. */
    __privateAdd(this, _peak2, 0);
    __privateAdd(this, _epochUs);
    /** The window that Reno would have: CUBIC is never slower. */
    __privateAdd(this, _reno2, 0);
  }
  /** Grows the window after `segments` were acknowledged while the window was full. */
  acknowledged(nowUs, segments, roundTripUs) {
    if (this.segments < __privateGet(this, _slowStartUntil)) {
      this.segments += segments;
      return;
    }
    if (__privateGet(this, _epochUs) === void 0) {
      __privateSet(this, _epochUs, nowUs);
      __privateSet(this, _reno2, this.segments);
      __privateSet(this, _peak2, Math.max(__privateGet(this, _peak2), this.segments));
    }
    const k = Math.cbrt(__privateGet(this, _peak2) * (1 - BETA) / C);
    const seconds = (nowUs - __privateGet(this, _epochUs) + roundTripUs) / 1e6;
    const target = C * (seconds - k) ** 3 + __privateGet(this, _peak2);
    __privateSet(this, _reno2, __privateGet(this, _reno2) + 3 * (1 - BETA) / (1 + BETA) * (segments / this.segments));
    const bounded = Math.min(target, this.segments * 1.5);
    if (bounded > this.segments) this.segments += (bounded - this.segments) / this.segments * segments;
    this.segments = Math.max(this.segments, __privateGet(this, _reno2));
  }
  /** Reduces the window. Call it once for each round trip with a loss. */
  reduce() {
    __privateSet(this, _peak2, this.segments < __privateGet(this, _peak2) ? this.segments * (1 + BETA) / 2 : this.segments);
    this.segments = Math.max(WINDOW_MIN, this.segments * BETA);
    __privateSet(this, _slowStartUntil, this.segments);
    __privateSet(this, _epochUs, void 0);
  }
  /** Resets the window after a time-out without any acknowledgement. */
  collapse() {
    this.reduce();
    this.segments = 1;
  }
}
_slowStartUntil = new WeakMap();
_peak2 = new WeakMap();
_epochUs = new WeakMap();
_reno2 = new WeakMap();
const SEGMENT_BYTES = 1448;
const TIMEOUT_US_MIN = 2e5;
const TIMEOUT_US_MAX = 6e7;
const REORDERING = 3;
class TcpSender {
  constructor(timeline, transmit, fixedWindow) {
    __privateAdd(this, _TcpSender_instances);
    __privateAdd(this, _timeline3);
    __privateAdd(this, _transmit);
    /** Returns a fixed window, in segments, that replaces CUBIC's; `undefined` to use CUBIC. */
    __privateAdd(this, _fixedWindow);
    __privateAdd(this, _window, new CubicWindow());
    /** The segments that are not cumulatively acknowledged, oldest first. */
    __privateAdd(this, _segments, []);
    __privateAdd(this, _writtenBytes, 0);
    __privateAdd(this, _sentBytes, 0);
    __privateAdd(this, _order, 0);
    __privateAdd(this, _newestArrived, -1);
    __privateAdd(this, _newestArrivedSentUs, 0);
    /** If a segment before this order is lost, the window was already reduced for the same loss event. */
    __privateAdd(this, _recoversUntil, -1);
    __privateAdd(this, _smoothedUs, 0);
    __privateAdd(this, _variationUs, 0);
    __privateAdd(this, _backoff, 1);
    __privateAdd(this, _hasProbed, false);
    __privateAdd(this, _timerAtUs, Number.POSITIVE_INFINITY);
    __privateSet(this, _timeline3, timeline);
    __privateSet(this, _transmit, transmit);
    __privateSet(this, _fixedWindow, fixedWindow);
  }
  /** Bytes that the program has written and that have not left. */
  get unsentBytes() {
    return __privateGet(this, _writtenBytes) - __privateGet(this, _sentBytes);
  }
  get windowSegments() {
    return __privateGet(this, _fixedWindow).call(this) ?? __privateGet(this, _window).segments;
  }
  write(bytes) {
    __privateSet(this, _writtenBytes, __privateGet(this, _writtenBytes) + bytes);
    __privateMethod(this, _TcpSender_instances, fill_fn).call(this);
  }
  handle({ upTo, segment, order, sentAtUs }) {
    const { nowUs } = __privateGet(this, _timeline3);
    const wasFull = __privateGet(this, _TcpSender_instances, inFlight_get) + 1 >= this.windowSegments;
    const before = __privateGet(this, _segments).filter(({ state: state2 }) => state2 === "arrived").length;
    if (!segment.wasRepeated) __privateMethod(this, _TcpSender_instances, measure_fn).call(this, nowUs - sentAtUs);
    segment.state = "arrived";
    for (const sent of __privateGet(this, _segments)) if (sent.end <= upTo) sent.state = "arrived";
    const arrived = __privateGet(this, _segments).filter(({ state: state2 }) => state2 === "arrived").length - before;
    __privateSet(this, _segments, __privateGet(this, _segments).filter(({ end }) => end > upTo));
    if (order > __privateGet(this, _newestArrived)) {
      __privateSet(this, _newestArrived, order);
      __privateSet(this, _newestArrivedSentUs, sentAtUs);
    }
    if (arrived > 0) {
      __privateSet(this, _backoff, 1);
      __privateSet(this, _hasProbed, false);
      if (wasFull) __privateGet(this, _window).acknowledged(nowUs, arrived, __privateGet(this, _smoothedUs));
    }
    __privateMethod(this, _TcpSender_instances, detectLosses_fn).call(this);
    __privateMethod(this, _TcpSender_instances, fill_fn).call(this);
  }
}
_timeline3 = new WeakMap();
_transmit = new WeakMap();
_fixedWindow = new WeakMap();
_window = new WeakMap();
_segments = new WeakMap();
_writtenBytes = new WeakMap();
_sentBytes = new WeakMap();
_order = new WeakMap();
_newestArrived = new WeakMap();
_newestArrivedSentUs = new WeakMap();
_recoversUntil = new WeakMap();
_smoothedUs = new WeakMap();
_variationUs = new WeakMap();
_backoff = new WeakMap();
_hasProbed = new WeakMap();
_timerAtUs = new WeakMap();
_TcpSender_instances = new WeakSet();
inFlight_get = function() {
  let count = 0;
  for (const { state: state2 } of __privateGet(this, _segments)) if (state2 === "sent") count += 1;
  return count;
};
measure_fn = function(sampleUs) {
  if (__privateGet(this, _smoothedUs) === 0) {
    __privateSet(this, _smoothedUs, sampleUs);
    __privateSet(this, _variationUs, sampleUs / 2);
    return;
  }
  __privateSet(this, _variationUs, __privateGet(this, _variationUs) + (Math.abs(__privateGet(this, _smoothedUs) - sampleUs) - __privateGet(this, _variationUs)) / 4);
  __privateSet(this, _smoothedUs, __privateGet(this, _smoothedUs) + (sampleUs - __privateGet(this, _smoothedUs)) / 8);
};
timeoutUs_get = function() {
  const usualUs = __privateGet(this, _smoothedUs) === 0 ? 1e6 : __privateGet(this, _smoothedUs) + 4 * __privateGet(this, _variationUs);
  return Math.min(TIMEOUT_US_MAX, Math.max(TIMEOUT_US_MIN, usualUs) * __privateGet(this, _backoff));
};
detectLosses_fn = function() {
  const { nowUs } = __privateGet(this, _timeline3);
  const patienceUs = __privateGet(this, _smoothedUs) * 1.25;
  for (const segment of __privateGet(this, _segments)) {
    if (segment.state !== "sent" || segment.order > __privateGet(this, _newestArrived)) continue;
    const isOvertaken = __privateGet(this, _newestArrived) - segment.order >= REORDERING;
    const isLate = segment.sentAtUs < __privateGet(this, _newestArrivedSentUs) && nowUs >= segment.sentAtUs + patienceUs;
    if (isOvertaken || isLate) __privateMethod(this, _TcpSender_instances, lose_fn2).call(this, segment);
  }
};
lose_fn2 = function(segment) {
  segment.state = "lost";
  if (segment.order <= __privateGet(this, _recoversUntil)) return;
  __privateGet(this, _window).reduce();
  __privateSet(this, _recoversUntil, __privateGet(this, _order));
};
fill_fn = function() {
  let flight = __privateGet(this, _TcpSender_instances, inFlight_get);
  for (const segment of __privateGet(this, _segments)) {
    if (flight + 1 > this.windowSegments) break;
    if (segment.state !== "lost") continue;
    segment.wasRepeated = true;
    __privateMethod(this, _TcpSender_instances, send_fn3).call(this, segment);
    flight += 1;
  }
  while (flight + 1 <= this.windowSegments && this.unsentBytes > 0) {
    const start = __privateGet(this, _sentBytes);
    const end = Math.min(start + SEGMENT_BYTES, __privateGet(this, _writtenBytes));
    const segment = { start, end, sentAtUs: 0, order: 0, state: "sent", wasRepeated: false };
    __privateSet(this, _sentBytes, end);
    __privateGet(this, _segments).push(segment);
    __privateMethod(this, _TcpSender_instances, send_fn3).call(this, segment);
    flight += 1;
  }
  __privateMethod(this, _TcpSender_instances, arm_fn).call(this);
};
send_fn3 = function(segment) {
  segment.state = "sent";
  segment.sentAtUs = __privateGet(this, _timeline3).nowUs;
  segment.order = __privateWrapper(this, _order)._++;
  __privateGet(this, _transmit).call(this, segment);
};
/**
 * Sets the timer to the earliest of three times: a gap becomes a loss, the probe at the tail is due, or the time-out
 * ends.
 */
arm_fn = function() {
  const atUs = __privateMethod(this, _TcpSender_instances, dueUs_fn).call(this);
  if (atUs === __privateGet(this, _timerAtUs)) return;
  __privateSet(this, _timerAtUs, atUs);
  if (atUs === Number.POSITIVE_INFINITY) return;
  __privateGet(this, _timeline3).at(atUs, () => {
    if (__privateGet(this, _timerAtUs) === atUs) __privateMethod(this, _TcpSender_instances, onTimer_fn).call(this);
  });
};
dueUs_fn = function() {
  let [gapUs, newestUs, oldestUs] = [Number.POSITIVE_INFINITY, 0, Number.POSITIVE_INFINITY];
  for (const { state: state2, order, sentAtUs } of __privateGet(this, _segments)) {
    if (state2 !== "sent") continue;
    newestUs = Math.max(newestUs, sentAtUs);
    oldestUs = Math.min(oldestUs, sentAtUs);
    if (order < __privateGet(this, _newestArrived)) gapUs = Math.min(gapUs, sentAtUs + __privateGet(this, _smoothedUs) * 1.25);
  }
  if (oldestUs === Number.POSITIVE_INFINITY) return oldestUs;
  const canProbe = !__privateGet(this, _hasProbed) && __privateGet(this, _smoothedUs) > 0;
  const probeUs = canProbe ? newestUs + 2 * __privateGet(this, _smoothedUs) : Number.POSITIVE_INFINITY;
  return Math.max(Math.min(gapUs, probeUs, oldestUs + __privateGet(this, _TcpSender_instances, timeoutUs_get)), __privateGet(this, _timeline3).nowUs + 100);
};
onTimer_fn = function() {
  const { nowUs } = __privateGet(this, _timeline3);
  __privateSet(this, _timerAtUs, Number.POSITIVE_INFINITY);
  const outstanding = __privateGet(this, _segments).filter(({ state: state2 }) => state2 === "sent");
  const oldestUs = Math.min(...outstanding.map(({ sentAtUs }) => sentAtUs));
  const newest = outstanding.at(-1);
  if (newest !== void 0 && nowUs >= oldestUs + __privateGet(this, _TcpSender_instances, timeoutUs_get)) {
    for (const segment of outstanding) segment.state = "lost";
    __privateGet(this, _window).collapse();
    __privateSet(this, _recoversUntil, __privateGet(this, _order));
    __privateSet(this, _backoff, __privateGet(this, _backoff) * 2);
  } else if (newest !== void 0 && !__privateGet(this, _hasProbed) && nowUs >= newest.sentAtUs + 2 * __privateGet(this, _smoothedUs)) {
    __privateSet(this, _hasProbed, true);
    newest.wasRepeated = true;
    __privateMethod(this, _TcpSender_instances, send_fn3).call(this, newest);
  }
  __privateMethod(this, _TcpSender_instances, detectLosses_fn).call(this);
  __privateMethod(this, _TcpSender_instances, fill_fn).call(this);
};
const HEADER_BYTES = 52;
class TcpTransport {
  constructor(timeline, forth, back, deliver) {
    __privateAdd(this, _TcpTransport_instances);
    __publicField(this, "congestion", "cubic");
    /** Whether the program replaces values that it has not written, and writes only while nothing waits to leave. */
    __publicField(this, "replaces", false);
    __privateAdd(this, _forth);
    __privateAdd(this, _back);
    __privateAdd(this, _deliver3);
    __privateAdd(this, _sender);
    __privateAdd(this, _writtenBytes2, 0);
    /** Messages that were not delivered yet, with the position of the byte after each. */
    __privateAdd(this, _messages, []);
    /** Messages of a program that replaces values: the newest state of each key, and all events. */
    __privateAdd(this, _unwritten, /* @__PURE__ */ new Map());
    __privateAdd(this, _unwrittenEvents, []);
    /** The receiver has all bytes below this one. */
    __privateAdd(this, _upTo, 0);
    /** Segments that wait for an earlier one. */
    __privateAdd(this, _waiting2, []);
    __privateSet(this, _forth, forth);
    __privateSet(this, _back, back);
    __privateSet(this, _deliver3, deliver);
    __privateSet(this, _sender, new TcpSender(
      timeline,
      (segment) => __privateMethod(this, _TcpTransport_instances, transmit_fn).call(this, segment),
      () => this.congestion === "cubic" ? void 0 : knownWindow(forth.settings)
    ));
  }
  get bytes() {
    return __privateGet(this, _forth).bytes;
  }
  get unsentBytes() {
    return __privateGet(this, _sender).unsentBytes;
  }
  put(messages) {
    if (!this.replaces) {
      __privateMethod(this, _TcpTransport_instances, writeReplaced_fn).call(this);
      __privateMethod(this, _TcpTransport_instances, write_fn).call(this, messages);
      return;
    }
    for (const message of messages) {
      if (message.type === "event") __privateGet(this, _unwrittenEvents).push(message);
      else __privateGet(this, _unwritten).set(message.key, message);
    }
    if (this.unsentBytes === 0) __privateMethod(this, _TcpTransport_instances, writeReplaced_fn).call(this);
  }
}
_forth = new WeakMap();
_back = new WeakMap();
_deliver3 = new WeakMap();
_sender = new WeakMap();
_writtenBytes2 = new WeakMap();
_messages = new WeakMap();
_unwritten = new WeakMap();
_unwrittenEvents = new WeakMap();
_upTo = new WeakMap();
_waiting2 = new WeakMap();
_TcpTransport_instances = new WeakSet();
writeReplaced_fn = function() {
  const messages = [...__privateGet(this, _unwrittenEvents), ...__privateGet(this, _unwritten).values()];
  __privateSet(this, _unwrittenEvents, []);
  __privateGet(this, _unwritten).clear();
  if (messages.length > 0) __privateMethod(this, _TcpTransport_instances, write_fn).call(this, messages);
};
write_fn = function(messages) {
  let bytes = 0;
  for (const message of messages) {
    bytes += bytesOf(message);
    __privateGet(this, _messages).push({ end: __privateGet(this, _writtenBytes2) + bytes, message });
  }
  __privateSet(this, _writtenBytes2, __privateGet(this, _writtenBytes2) + bytes);
  __privateGet(this, _sender).write(bytes);
};
transmit_fn = function(segment) {
  const { order, sentAtUs } = segment;
  __privateGet(this, _forth).send(segment.end - segment.start + HEADER_BYTES, () => {
    __privateMethod(this, _TcpTransport_instances, receive_fn).call(this, segment);
    const upTo = __privateGet(this, _upTo);
    __privateGet(this, _back).send(HEADER_BYTES, () => {
      __privateGet(this, _sender).handle({ upTo, segment, order, sentAtUs });
      if (this.replaces && this.unsentBytes === 0) __privateMethod(this, _TcpTransport_instances, writeReplaced_fn).call(this);
    });
  });
};
/** A segment after a gap waits: nothing behind a lost segment is delivered before that segment. */
receive_fn = function(segment) {
  if (segment.end > __privateGet(this, _upTo) && !__privateGet(this, _waiting2).includes(segment)) __privateGet(this, _waiting2).push(segment);
  for (let next = __privateMethod(this, _TcpTransport_instances, next_fn2).call(this); next !== void 0; next = __privateMethod(this, _TcpTransport_instances, next_fn2).call(this)) {
    __privateSet(this, _upTo, next.end);
    __privateSet(this, _waiting2, __privateGet(this, _waiting2).filter(({ end }) => end > __privateGet(this, _upTo)));
  }
  let count = 0;
  while (count < __privateGet(this, _messages).length && __privateGet(this, _messages)[count].end <= __privateGet(this, _upTo)) {
    __privateGet(this, _deliver3).call(this, __privateGet(this, _messages)[count].message);
    count += 1;
  }
  if (count > 0) __privateSet(this, _messages, __privateGet(this, _messages).slice(count));
};
next_fn2 = function() {
  return __privateGet(this, _waiting2).find(({ start, end }) => start <= __privateGet(this, _upTo) && end > __privateGet(this, _upTo));
};
function knownWindow({ kilobitsPerSecond, roundTripMs, jitterMs }) {
  return 4 + kilobitsPerSecond * (roundTripMs + 2 * jitterMs) / 8 / SEGMENT_BYTES;
}
class Timeline {
  constructor() {
    __privateAdd(this, _Timeline_instances);
    __publicField(this, "nowUs", 0);
    /** A binary heap: no call is due before the first one. */
    __privateAdd(this, _calls, []);
    __privateAdd(this, _order2, 0);
  }
  at(atUs, run) {
    const call = { atUs: Math.max(atUs, this.nowUs), order: __privateWrapper(this, _order2)._++, run };
    let index = __privateGet(this, _calls).push(call) - 1;
    while (index > 0) {
      const parent = index - 1 >> 1;
      if (!isBefore(call, __privateGet(this, _calls)[parent])) break;
      __privateGet(this, _calls)[index] = __privateGet(this, _calls)[parent];
      index = parent;
    }
    __privateGet(this, _calls)[index] = call;
  }
  runUntil(untilUs) {
    while (__privateGet(this, _calls).length > 0 && __privateGet(this, _calls)[0].atUs <= untilUs) {
      const call = __privateMethod(this, _Timeline_instances, take_fn).call(this);
      this.nowUs = call.atUs;
      call.run();
    }
    this.nowUs = untilUs;
  }
}
_calls = new WeakMap();
_order2 = new WeakMap();
_Timeline_instances = new WeakSet();
take_fn = function() {
  const first = __privateGet(this, _calls)[0];
  const last = __privateGet(this, _calls).pop();
  const { length } = __privateGet(this, _calls);
  if (length === 0) return first;
  let index = 0;
  for (let child = 1; child < length; child = index * 2 + 1) {
    if (child + 1 < length && isBefore(__privateGet(this, _calls)[child + 1], __privateGet(this, _calls)[child])) child += 1;
    if (!isBefore(__privateGet(this, _calls)[child], last)) break;
    __privateGet(this, _calls)[index] = __privateGet(this, _calls)[child];
    index = child;
  }
  __privateGet(this, _calls)[index] = last;
  return first;
};
function isBefore(a, b) {
  return a.atUs < b.atUs || a.atUs === b.atUs && a.order < b.order;
}
const USUAL = {
  roundTripMs: 50,
  jitterMs: 5,
  loss: 0.02,
  kilobitsPerSecond: 1e4,
  keys: 20,
  congestion: "cubic",
  tcpReplaces: false,
  eventsWait: false
};
const TURN_US = 5e5;
const KEYS_MAX = 100;
class Receiver {
  constructor() {
    __publicField(this, "ages", new Histogram());
    __publicField(this, "eventTimes", new Histogram());
    __publicField(this, "eventsReceived", 0);
    /** The time at which the shown value of each key was put; 0 before the first value. */
    __publicField(this, "putAtUs", new Float64Array(KEYS_MAX + 1));
  }
  handle(nowUs, message) {
    if (message.type === "event") {
      this.eventsReceived += 1;
      this.eventTimes.add((nowUs - message.putAtUs) / 1e3);
      return;
    }
    const shown = this.putAtUs[message.key];
    this.putAtUs[message.key] = Math.max(shown, message.putAtUs);
  }
  sample(nowUs, keys) {
    for (let key = 1; key <= keys; key++) {
      const putAtUs = this.putAtUs[key];
      if (putAtUs > 0) this.ages.add((nowUs - putAtUs) / 1e3);
    }
  }
  turn() {
    this.ages.turn();
    this.eventTimes.turn();
  }
}
class Lab {
  constructor(seed, settings = USUAL) {
    __privateAdd(this, _Lab_instances);
    __publicField(this, "timeline", new Timeline());
    __publicField(this, "tcp");
    __publicField(this, "datagrams");
    __publicField(this, "queue");
    __publicField(this, "eventsPut", 0);
    __privateAdd(this, _links2, []);
    __privateAdd(this, _settings2);
    __privateAdd(this, _ticks, 0);
    __privateAdd(this, _nextTickUs, TICK_US);
    __privateAdd(this, _nextTurnUs, TURN_US);
    __privateSet(this, _settings2, settings);
    const link = (offset) => {
      const made = new Link(this.timeline, settings, seed * 16 + offset);
      __privateGet(this, _links2).push(made);
      return made;
    };
    const enter = (make) => {
      const receiver = new Receiver();
      return { receiver, transport: make((message) => receiver.handle(this.timeline.nowUs, message)) };
    };
    this.tcp = enter((deliver) => new TcpTransport(this.timeline, link(1), link(2), deliver));
    this.datagrams = enter((deliver) => new DatagramTransport(link(1), deliver));
    this.queue = enter(
      (deliver) => new SessionTransport(this.timeline, link(1), link(2), deliver, seed * 16 + 3)
    );
    this.settings = settings;
  }
  get contestants() {
    return [this.tcp, this.datagrams, this.queue];
  }
  get settings() {
    return __privateGet(this, _settings2);
  }
  set settings(settings) {
    __privateSet(this, _settings2, settings);
    this.tcp.transport.congestion = settings.congestion;
    this.tcp.transport.replaces = settings.tcpReplaces;
    this.queue.transport.eventsWait = settings.eventsWait;
    for (const link of __privateGet(this, _links2)) link.settings = settings;
  }
  advance(milliseconds) {
    const endUs = this.timeline.nowUs + milliseconds * 1e3;
    while (__privateGet(this, _nextTickUs) <= endUs) {
      this.timeline.runUntil(__privateGet(this, _nextTickUs));
      __privateMethod(this, _Lab_instances, tick_fn).call(this);
      __privateSet(this, _nextTickUs, __privateGet(this, _nextTickUs) + TICK_US);
    }
    this.timeline.runUntil(endUs);
  }
}
_links2 = new WeakMap();
_settings2 = new WeakMap();
_ticks = new WeakMap();
_nextTickUs = new WeakMap();
_nextTurnUs = new WeakMap();
_Lab_instances = new WeakSet();
tick_fn = function() {
  const { nowUs } = this.timeline;
  const { keys } = __privateGet(this, _settings2);
  for (const { receiver } of this.contestants) receiver.sample(nowUs, keys);
  const messages = Array.from({ length: keys }, (_, index) => ({
    type: "state",
    key: index + 1,
    putAtUs: nowUs
  }));
  if (__privateGet(this, _ticks) % TICKS_PER_EVENT === 0) {
    messages.push({ type: "event", putAtUs: nowUs });
    this.eventsPut += 1;
  }
  for (const { transport } of this.contestants) transport.put(messages);
  __privateSet(this, _ticks, __privateGet(this, _ticks) + 1);
  if (nowUs < __privateGet(this, _nextTurnUs)) return;
  __privateSet(this, _nextTurnUs, __privateGet(this, _nextTurnUs) + TURN_US);
  for (const { receiver } of this.contestants) receiver.turn();
};
const SLIDERS = [
  {
    name: "loss",
    label: "Lost packets",
    steps: [0, 5e-3, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2],
    show: (value) => `${+(value * 100).toFixed(1)} %`
  },
  {
    name: "roundTripMs",
    label: "Round trip",
    steps: [10, 20, 30, 50, 80, 100, 150, 200, 300],
    show: (value) => `${value} ms`
  },
  {
    name: "jitterMs",
    label: "Jitter, each way",
    steps: [0, 2, 5, 10, 20, 40, 80],
    show: (value) => `up to ${value} ms`
  },
  {
    name: "kilobitsPerSecond",
    label: "Capacity",
    steps: [300, 400, 500, 600, 700, 800, 1e3, 2e3, 5e3, 1e4, 2e4],
    show: (value) => value < 1e3 ? `${value} kbit/s` : `${value / 1e3} Mbit/s`
  },
  { name: "keys", label: "States at 60 Hz", steps: [1, 5, 10, 20, 40, 70, 100], show: String }
];
const PRESETS = [
  { label: "Good link", settings: { loss: 0, jitterMs: 0 } },
  { label: "Wi-Fi", settings: {} },
  { label: "5 % lost", settings: { loss: 0.05 } },
  { label: "Narrow link", settings: { loss: 0, kilobitsPerSecond: 500 } },
  { label: "Far and lossy", settings: { loss: 0.05, roundTripMs: 200, jitterMs: 20 } }
];
function makeControls(onChange) {
  let settings = USUAL;
  const refreshers = [];
  const change = (changes) => {
    settings = { ...settings, ...changes };
    for (const refresh of refreshers) refresh();
    onChange(settings);
  };
  const sliders = SLIDERS.map((slider) => {
    const { made, refresh } = makeSlider(slider, () => settings, change);
    refreshers.push(refresh);
    return made;
  });
  const presets = PRESETS.map(({ label, settings: chosen }) => {
    const button = element("button", { type: "button" }, label);
    button.addEventListener("click", () => change({ ...USUAL, ...chosen }));
    return button;
  });
  const known = makeSwitch(
    "TCP knows the capacity and ignores losses",
    (on) => change({ congestion: on ? "known" : "cubic" })
  );
  const replaces = makeSwitch(
    "TCP's program replaces values that it has not written",
    (on) => change({ tcpReplaces: on })
  );
  const waits = makeSwitch(
    "Events of the queue wait for the states before them",
    (on) => change({ eventsWait: on })
  );
  refreshers.push(
    () => known.set(settings.congestion === "known"),
    () => replaces.set(settings.tcpReplaces),
    () => waits.set(settings.eventsWait)
  );
  for (const refresh of refreshers) refresh();
  return element(
    "div",
    { class: "lab-controls" },
    element("div", { class: "lab-presets", role: "group", "aria-label": "Links" }, ...presets),
    element("div", { class: "lab-sliders" }, ...sliders),
    known.made,
    replaces.made,
    waits.made
  );
}
function makeSlider({ name, label, steps, show }, settings, change) {
  const input = element("input", {
    type: "range",
    min: "0",
    max: String(steps.length - 1),
    "data-name": name
  });
  const output = element("output");
  input.addEventListener("input", () => change({ [name]: steps[Number(input.value)] }));
  const refresh = () => {
    const value = settings()[name];
    input.value = String(steps.indexOf(value));
    output.textContent = show(value);
    input.setAttribute("aria-valuetext", show(value));
  };
  const made = element("label", {}, element("span", {}, label, " ", output), input);
  return { made, refresh };
}
function makeSwitch(label, change) {
  const input = element("input", { type: "checkbox" });
  input.addEventListener("change", () => change(input.checked));
  const made = element("label", { class: "lab-switch" }, input, label);
  return {
    made,
    set: (on) => {
      input.checked = on;
    }
  };
}
const MARKS_MS = [10, 100, 1e3, 1e4];
const LAP_US = 25e5;
class Panel {
  constructor(title, explanation, colour, contestant, moreFigures) {
    __privateAdd(this, _Panel_instances);
    __publicField(this, "root");
    __privateAdd(this, _contestant);
    __privateAdd(this, _picture, element("canvas", { class: "lab-picture", role: "img" }));
    __privateAdd(this, _histogram, element("canvas", { class: "lab-histogram", role: "img" }));
    __privateAdd(this, _figures, element("dl"));
    __privateAdd(this, _colour);
    __privateAdd(this, _title);
    __privateAdd(this, _moreFigures);
    __privateSet(this, _title, title);
    __privateSet(this, _colour, colour);
    __privateSet(this, _contestant, contestant);
    __privateSet(this, _moreFigures, moreFigures);
    this.root = element(
      "section",
      { class: "lab-panel" },
      element("h3", {}, title),
      element("p", {}, explanation),
      __privateGet(this, _picture),
      __privateGet(this, _figures),
      __privateGet(this, _histogram)
    );
  }
  draw(nowUs, kilobytesPerSecond) {
    __privateMethod(this, _Panel_instances, drawDot_fn).call(this, nowUs);
    __privateMethod(this, _Panel_instances, drawHistogram_fn).call(this);
    __privateMethod(this, _Panel_instances, showFigures_fn).call(this, kilobytesPerSecond);
  }
}
_contestant = new WeakMap();
_picture = new WeakMap();
_histogram = new WeakMap();
_figures = new WeakMap();
_colour = new WeakMap();
_title = new WeakMap();
_moreFigures = new WeakMap();
_Panel_instances = new WeakSet();
/** Draws a ring at the dot's true place, and the dot where this receiver shows it. */
drawDot_fn = function(nowUs) {
  const { context, width, height } = contextOf(__privateGet(this, _picture));
  const place = (putAtUs) => {
    const angle = putAtUs / LAP_US * 2 * Math.PI;
    return [
      width / 2 + (width / 2 - 16) * Math.cos(angle),
      height / 2 + (height / 2 - 14) * Math.sin(angle)
    ];
  };
  context.strokeStyle = themeColour(this.root, "--vp-c-text-3");
  context.lineWidth = 1.5;
  context.beginPath();
  context.arc(...place(nowUs), 9, 0, 2 * Math.PI);
  context.stroke();
  context.fillStyle = __privateGet(this, _colour);
  context.beginPath();
  context.arc(...place(__privateGet(this, _contestant).receiver.putAtUs[1]), 7, 0, 2 * Math.PI);
  context.fill();
};
drawHistogram_fn = function() {
  const { context, width, height } = contextOf(__privateGet(this, _histogram));
  const { ages } = __privateGet(this, _contestant).receiver;
  const counts = ages.counts();
  const most = Math.max(1, ...counts);
  const floor = height - 16;
  const step = width / BINS;
  context.fillStyle = __privateGet(this, _colour);
  counts.forEach((count, bin) => {
    const bar = Math.sqrt(count / most) * (floor - 4);
    if (count > 0)
      context.fillRect(bin * step, floor - Math.max(bar, 1), Math.max(step - 1, 1), Math.max(bar, 1));
  });
  context.fillStyle = themeColour(this.root, "--vp-c-text-2");
  context.fillRect(0, floor, width, 1);
  context.font = "11px sans-serif";
  context.textAlign = "center";
  for (const mark of MARKS_MS) {
    const text = mark < 1e3 ? `${mark} ms` : `${mark / 1e3} s`;
    context.fillText(text, binOf(mark) * step + step / 2, height - 3);
  }
};
showFigures_fn = function(kilobytesPerSecond) {
  const { ages, eventTimes } = __privateGet(this, _contestant).receiver;
  const figures = [
    ["age, p50", duration(ages.quantileMs(0.5))],
    ["age, p99", duration(ages.quantileMs(0.99))],
    ["events, p99", duration(eventTimes.quantileMs(0.99))],
    ...__privateGet(this, _moreFigures).call(this),
    ["on the link", `${kilobytesPerSecond.toFixed(0)} kB/s`]
  ];
  __privateGet(this, _figures).replaceChildren(
    ...figures.map(
      ([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))
    )
  );
  __privateGet(this, _histogram).setAttribute("aria-label", `Ages of ${__privateGet(this, _title)}, ${edgeMs(0)} ms to 20 s`);
  __privateGet(this, _picture).setAttribute("aria-label", `A moving dot, as ${__privateGet(this, _title)} shows it`);
};
function duration(milliseconds) {
  if (milliseconds === void 0) return "–";
  return milliseconds < 1e3 ? `≤ ${milliseconds.toFixed(0)} ms` : `≤ ${(milliseconds / 1e3).toFixed(1)} s`;
}
const SEED = 7;
const FRAME_MS_MAX = 50;
const FIGURES_MS = 250;
function mountLab(root) {
  const view = new LabView(root);
  window.nowcastLab = view;
  return () => {
    view.stop();
    window.nowcastLab = void 0;
  };
}
class LabView {
  constructor(root) {
    __privateAdd(this, _LabView_instances);
    __publicField(this, "lab", new Lab(SEED));
    __privateAdd(this, _panels, element("div", { class: "lab-panels" }));
    __privateAdd(this, _time, element("span", { class: "lab-time" }));
    __privateAdd(this, _pause, element("button", { type: "button", class: "lab-pause" }, "Pause"));
    __privateAdd(this, _shown2, []);
    __privateAdd(this, _settings3, USUAL);
    __privateAdd(this, _frame, 0);
    __privateAdd(this, _lastMs);
    __privateAdd(this, _figuresAtMs, 0);
    __privateAdd(this, _bytes3, [0, 0, 0]);
    __privateAdd(this, _rates, [0, 0, 0]);
    const restart = element("button", { type: "button" }, "Start again");
    restart.addEventListener("click", () => __privateMethod(this, _LabView_instances, restart_fn).call(this));
    __privateGet(this, _pause).addEventListener("click", () => __privateGet(this, _frame) === 0 ? __privateMethod(this, _LabView_instances, play_fn).call(this) : __privateMethod(this, _LabView_instances, hold_fn2).call(this));
    const buttons = element("div", { class: "lab-buttons" }, __privateGet(this, _pause), restart, __privateGet(this, _time));
    const controls = makeControls((settings) => {
      __privateSet(this, _settings3, settings);
      this.lab.settings = settings;
    });
    root.replaceChildren(element("div", { class: "lab" }, controls, buttons, __privateGet(this, _panels)));
    __privateMethod(this, _LabView_instances, restart_fn).call(this);
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) __privateMethod(this, _LabView_instances, play_fn).call(this);
    else __privateMethod(this, _LabView_instances, hold_fn2).call(this);
  }
  stop() {
    cancelAnimationFrame(__privateGet(this, _frame));
    __privateSet(this, _frame, 0);
  }
}
_panels = new WeakMap();
_time = new WeakMap();
_pause = new WeakMap();
_shown2 = new WeakMap();
_settings3 = new WeakMap();
_frame = new WeakMap();
_lastMs = new WeakMap();
_figuresAtMs = new WeakMap();
_bytes3 = new WeakMap();
_rates = new WeakMap();
_LabView_instances = new WeakSet();
restart_fn = function() {
  this.lab = new Lab(SEED, __privateGet(this, _settings3));
  const { tcp, datagrams, queue } = this.lab;
  __privateSet(this, _shown2, [
    new Panel("TCP, in order", "Every value arrives, one after the other.", "#d9534f", tcp, () => [
      ["wait to leave", kilobytes(tcp.transport.unsentBytes)]
    ]),
    new Panel("UDP, newest", "A lost packet is lost.", "#b8860b", datagrams, () => [
      ["events lost", String(datagrams.transport.eventsLost)]
    ]),
    new Panel("Updatable queue", "The newest states, and every event.", "#2e8b57", queue, () => [
      ["replaced", String(queue.transport.superseded)]
    ])
  ]);
  __privateSet(this, _bytes3, [0, 0, 0]);
  __privateGet(this, _panels).replaceChildren(...__privateGet(this, _shown2).map(({ root }) => root));
};
play_fn = function() {
  __privateGet(this, _pause).textContent = "Pause";
  __privateSet(this, _lastMs, void 0);
  __privateSet(this, _frame, requestAnimationFrame((nowMs) => __privateMethod(this, _LabView_instances, next_fn3).call(this, nowMs)));
};
hold_fn2 = function() {
  this.stop();
  __privateGet(this, _pause).textContent = "Run";
};
next_fn3 = function(nowMs) {
  const elapsedMs = Math.min(FRAME_MS_MAX, nowMs - (__privateGet(this, _lastMs) ?? nowMs));
  __privateSet(this, _lastMs, nowMs);
  this.lab.advance(elapsedMs);
  __privateMethod(this, _LabView_instances, draw_fn).call(this);
  __privateSet(this, _frame, requestAnimationFrame((next) => __privateMethod(this, _LabView_instances, next_fn3).call(this, next)));
};
draw_fn = function() {
  const { nowUs } = this.lab.timeline;
  const sinceMs = nowUs / 1e3 - __privateGet(this, _figuresAtMs);
  if (sinceMs < 0 || sinceMs >= FIGURES_MS) {
    const bytes = this.lab.contestants.map(({ transport }) => transport.bytes);
    __privateSet(this, _rates, bytes.map((sum, index) => Math.max(0, sum - __privateGet(this, _bytes3)[index]) / Math.max(sinceMs, 1)));
    __privateSet(this, _bytes3, bytes);
    __privateSet(this, _figuresAtMs, nowUs / 1e3);
    __privateGet(this, _time).textContent = `${(nowUs / 1e6).toFixed(0)} s, ${this.lab.eventsPut} events put`;
  }
  __privateGet(this, _shown2).forEach((panel, index) => {
    panel.draw(nowUs, __privateGet(this, _rates)[index]);
  });
};
function kilobytes(bytes) {
  return `${(bytes / 1e3).toFixed(0)} kB`;
}
export {
  LabView,
  mountLab
};
