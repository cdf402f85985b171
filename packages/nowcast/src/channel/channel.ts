/** The four verbs over any carrier. */
import type { CarrierKind } from "../carrier/carrier.js";
import { clockUs, type Driver } from "../carrier/driver.js";
import { type ErrorCode, NowcastError } from "../errors/nowcast-error.js";
import { ASYNC_DISPOSE, CancellableWaits, type WaitOptions } from "../events/cancellable-waits.js";
import { Emitter } from "../events/emitter.js";
import { CloseCode, type Closed } from "../session/fault.js";
import type { Notice } from "../session/notice.js";
import type { ReplicationSource } from "../session/replication.js";
import { checkCommand } from "./arguments.js";
import { Commands } from "./commands.js";
import { Inbox } from "./inbox.js";
import { type CommandOptions, Lane } from "./lane.js";
import type { ChannelMessage, CommandMessage } from "./message.js";
import { Schemas } from "./schemas.js";
import { type ChannelPhase, type ChannelStatus, readStatus } from "./status.js";
import { TypedLane, type ValueCodec } from "./typed-lane.js";

/** Codes of CLOSE from here on are the application's own (`spec/SESSION.md`, section 12). */
const APPLICATION_CODE_MIN = 64;

export interface ChannelEvents {
  /** While this event has a listener, messages are passed to the listener as they arrive. */
  message: ChannelMessage;
  /** The phase or the carrier changed. */
  status: ChannelStatus;
}

/**
 * The identity of the client that joined, if the endpoint knows it. Empty on the side that
 * connected.
 */
export interface Entry {
  /** The player or device named by the token. */
  readonly name?: string | undefined;
  /** The name of the service that the client joined. */
  readonly room?: string | undefined;
  readonly role?: string | undefined;
  readonly address?: string | undefined;
}

/**
 * A two-way connection to another program, on the best available carrier. Messages arrive by the
 * laws of the updatable queue (`spec/QUEUE.md`), even if packets are lost or the carrier changes.
 */
export class Channel implements AsyncIterable<ChannelMessage> {
  readonly entry: Entry;
  readonly #driver: Driver;
  readonly #inbox: Inbox;
  readonly #commands = new Commands();
  readonly #emitter = new Emitter<ChannelEvents>();
  readonly #lanes = new Map<number, Lane>();
  readonly #schemas = new Schemas();
  #messageListeners = 0;
  #replicated: ((payload: Uint8Array, arrivedAtMs: number) => void) | undefined;
  #resumed = 0;
  #closed: Closed | undefined;
  #emittedStatus: readonly [ChannelPhase, CarrierKind | undefined];
  /** The waits of callers for an event, or for the arrival of all messages. */
  readonly #listeners = new CancellableWaits();
  readonly #drains = new CancellableWaits();
  readonly #drained = new Set<() => void>();

  /** Made by `connect` and `listen`. */
  constructor(driver: Driver, entry: Entry = {}) {
    this.entry = entry;
    this.#driver = driver;
    this.#inbox = new Inbox(driver, this.#schemas);
    this.#emittedStatus = [this.status.phase, driver.carrierKind];
  }

  /** Puts the newest value of a key on lane 0. See {@link Lane.state}. */
  state(key: number | bigint, value: Uint8Array): boolean {
    return this.lane(0).state(key, value);
  }

  /** Puts an event on lane 0. See {@link Lane.event}. */
  event(value: Uint8Array): boolean {
    return this.lane(0).event(value);
  }

  /** Puts a command on lane 0, which the peer answers. See {@link Lane.command}. */
  command(value: Uint8Array, options?: CommandOptions): Promise<Uint8Array> {
    return this.lane(0).command(value, options);
  }

  /** Answers a command on the lane on which it arrived. */
  reply(command: CommandMessage, value: Uint8Array): boolean {
    return this.lane(checkCommand(command).lane).reply(command, value);
  }

  /**
   * Returns a lane. Messages of one lane are in order, and lanes do not wait for each other. Lanes are 0 to 7 by
   * default; if only a codec is given, the lane is 0. With a codec, the lane takes and returns values instead of bytes.
   */
  lane(number: number): Lane;
  lane<T>(codec: ValueCodec<T>): TypedLane<T>;
  lane<T>(number: number, codec: ValueCodec<T>): TypedLane<T>;
  /** With a second codec, replies have the second codec's type, and commands the first codec's. */
  lane<T, R>(number: number, codec: ValueCodec<T>, replies: ValueCodec<R>): TypedLane<T, R>;
  lane(
    first: number | ValueCodec<unknown>,
    codec?: ValueCodec<unknown>,
    replies = codec,
  ): Lane | TypedLane<unknown> {
    if (typeof first === "object") return new TypedLane(this.#lane(0), first, first, this.#schemas);
    if (codec === undefined || replies === undefined) return this.#lane(first);
    return new TypedLane(this.#lane(first), codec, replies, this.#schemas);
  }

  #lane(number: number): Lane {
    let lane = this.#lanes.get(number);
    if (lane === undefined) {
      lane = new Lane(number, this.#driver, this.#commands, this.#inbox);
      this.#lanes.set(number, lane);
    }
    return lane;
  }

  /**
   * The session's random number, which the accepting side chose; the same on both sides, and on every carrier.
   * `undefined` before the session begins.
   */
  get sessionId(): Uint8Array | undefined {
    return this.#driver.session.ticket?.session;
  }

  /** Lets a source fill packets after the lane's queued messages. */
  replicate(lane: number, source: ReplicationSource | undefined): void {
    this.#driver.session.replicate(lane, source);
    this.#driver.wake();
  }

  /** Reports that a replication source has new content. */
  wake(): void {
    this.#driver.wake();
  }

  /**
   * Waits for the next message; `undefined` when the channel is closed and everything was received.
   */
  receive({ signal }: WaitOptions = {}): Promise<ChannelMessage | undefined> {
    return this.#inbox.receive(signal);
  }

  /** Returns the next message, if one has arrived. */
  tryReceive(): ChannelMessage | undefined {
    const message = this.#inbox.take();
    // Receiving a message gives the peer room to send.
    if (message !== undefined) this.#driver.wake();
    return message;
  }

  /**
   * Iterates over all messages, until either side closes the channel normally. Throws if the channel failed: the peer
   * did not answer until the resume time-out, the peer shut down, or one side broke the protocol.
   */
  [Symbol.asyncIterator](): AsyncGenerator<ChannelMessage, void> {
    return this.#inbox.messages();
  }

  /** Listens until the returned function is called or `signal` aborts. */
  on<K extends keyof ChannelEvents>(
    type: K,
    listener: (event: ChannelEvents[K]) => void,
    options: WaitOptions = {},
  ): () => void {
    if (type !== "message") return this.#emitter.on(type, listener, options);
    const off = this.#emitter.on(type, listener);
    this.#messageListeners += 1;
    this.#inbox.listener ??= (message) => this.#emitter.emit("message", message);
    this.#driver.wake();
    const { signal } = options;
    let isListening = true;
    const stop = (): void => {
      off();
      signal?.removeEventListener("abort", stop);
      if (isListening) this.#messageListeners -= 1;
      isListening = false;
      if (this.#messageListeners === 0) this.#inbox.listener = undefined;
    };
    signal?.addEventListener("abort", stop);
    if (signal?.aborted) stop();
    return stop;
  }

  /** Waits for the next event with this type. Rejected if the channel is closed earlier, or if `signal` aborts. */
  once<K extends keyof ChannelEvents>(type: K, { signal }: WaitOptions = {}): Promise<ChannelEvents[K]> {
    return this.#listeners.wait(signal, (resolve) => this.on(type, resolve));
  }

  /** The current state of the channel. Reading it a few times a second costs little. */
  get status(): ChannelStatus {
    return readStatus(this.#driver, { resumed: this.#resumed, closed: this.#closed });
  }

  /**
   * Waits until everything that was put has arrived at the peer. Rejected if the channel closes earlier, or is closed
   * already.
   */
  async drained({ signal }: WaitOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    if (this.#closed !== undefined && this.#driver.session.isSettled) return;
    await this.#drains.wait<void>(signal, (resolve) => {
      this.#drained.add(resolve);
      this.#driver.wake();
      return () => this.#drained.delete(resolve);
    });
  }

  /**
   * Called at the end of `await using`. Waits until all messages have arrived or can no longer
   * arrive, and then closes.
   */
  async [ASYNC_DISPOSE](): Promise<void> {
    await this.drained().catch(() => {});
    this.close();
  }

  /**
   * Ends the channel at once. The peer receives `code` (0, or 64 and above for the application's own codes) and
   * `reason`. Messages that have not arrived are dropped, so wait for {@link drained} first.
   */
  close(code: number = CloseCode.done, reason = ""): void {
    this.#driver.close(code, reason);
  }

  /** @internal Passes the payloads of the peer's replication sources to `sink` at once, instead of as messages. */
  receiveReplication(sink: (payload: Uint8Array, arrivedAtMs: number) => void): void {
    this.#replicated = sink;
    this.#driver.wake();
  }

  /** @internal Called by the driver when a carrier has ended. The owner of the driver replaces it. */
  carrierEnded: () => void = () => {};

  /** @internal Called by the driver of the channel after each change. */
  changed(): void {
    const { session } = this.#driver;
    if (this.#replicated !== undefined) {
      for (let next = session.replication.take(); next; next = session.replication.take()) {
        this.#replicated(next.payload, next.arrivedAtUs / 1_000);
      }
    }
    this.#inbox.deliver();
    if (!this.#commands.isEmpty) session.receiveReplies(clockUs());
    for (let notice = session.pollNotice(); notice; notice = session.pollNotice()) this.#notice(notice);
    if (this.#drained.size > 0 && session.isSettled) for (const resolve of [...this.#drained]) resolve();
    this.#tellStatus();
  }

  #notice(notice: Notice): void {
    switch (notice.type) {
      case "opened":
        if (notice.resumed) this.#resumed += 1;
        return;
      case "closed":
        return this.#end(notice.closed);
      case "command timed out":
        return this.#commands.timedOut(notice.command);
      case "reply":
        return this.#commands.answered(notice.command, notice.value);
    }
  }

  #end(closed: Closed): void {
    this.#closed = closed;
    const error = closedError(closed);
    this.#commands.ended(error);
    this.#drains.end(error);
    this.#inbox.end(isGoodEnd(closed) ? undefined : error);
  }

  #tellStatus(): void {
    const { session, carrierKind } = this.#driver;
    const phase = session.isClosed ? "closed" : session.isOpen ? "open" : "interrupted";
    if (this.#emittedStatus[0] === phase && this.#emittedStatus[1] === carrierKind) return;
    this.#emittedStatus = [phase, carrierKind];
    this.#emitter.emit("status", this.status);
    if (this.#closed !== undefined) this.#listeners.end(closedError(this.#closed));
  }
}

/** The error for a call on a channel that the program has closed. */
const HERE = "open another one";
const END_CODES: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [CloseCode.done, "done"],
  [CloseCode.malformed, "malformed"],
  [CloseCode.limitExceeded, "limit_exceeded"],
  [CloseCode.violation, "violation"],
  [CloseCode.gaveUp, "lost"],
  [CloseCode.version, "version"],
  [CloseCode.unknownSession, "lost"],
  [CloseCode.wrongToken, "lost"],
  [CloseCode.busy, "full"],
  [CloseCode.unauthorised, "unauthorised"],
  [CloseCode.goingAway, "going_away"],
  [CloseCode.behind, "too_slow"],
]);

/** Whether one side ended the channel on purpose: `done`, a code of the application, or the end of this program's endpoint. */
function isGoodEnd({ code, by }: Closed): boolean {
  if (by === "us" && code === CloseCode.goingAway) return true;
  return by !== "silence" && (code === CloseCode.done || code >= APPLICATION_CODE_MIN);
}

/** Converts the end of a channel to an error for pending promises. */
export function closedError({ code, reason, by }: Closed): NowcastError {
  const name = Object.entries(CloseCode).find(([, known]) => known === code)?.[0] ?? "code";
  const words = `the channel is closed: ${name} (${code})${reason === "" ? "" : `, ${reason}`}`;
  const details = { code: END_CODES.get(code) ?? "closed", closeCode: code } as const;
  if (by === "silence") return new NowcastError("network", words, { ...details, code: "lost" });
  if (by === "us" && code >= CloseCode.malformed && code <= CloseCode.violation) {
    return new NowcastError("peer-misbehaved", words, details);
  }
  if (by === "us") return new NowcastError("misuse", words, { ...details, code: "closed_here", cure: HERE });
  return new NowcastError(code === CloseCode.version ? "peer-incompatible" : "refused", words, details);
}
