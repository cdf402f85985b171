/** The four verbs over any carrier. */
import type { CarrierKind } from "../carrier/carrier.js";
import type { Driver } from "../carrier/driver.js";
import { Emitter } from "../emitter.js";
import { NowcastError } from "../errors.js";
import { CloseCode, type Closed } from "../session/fault.js";
import type { Notice } from "../session/notice.js";
import type { ReplicationSource } from "../session/replication.js";
import { checkCommand } from "./arguments.js";
import { Commands } from "./commands.js";
import { Inbox } from "./inbox.js";
import { type CommandOptions, type EventOptions, Lane } from "./lane.js";
import type { ChannelMessage, CommandMessage } from "./message.js";
import { type ChannelPhase, type ChannelStatus, readStatus } from "./status.js";

export interface ChannelEvents {
  /** As long as anybody listens to this, messages go there as they come. */
  message: ChannelMessage;
  /** The phase or the carrier changed. */
  status: ChannelStatus;
  /** An event was given up at the end of its lifetime; the peer may have it all the same. */
  expired: { readonly lane: number; readonly event: number };
}

/** Who came in, as far as the endpoint knows; empty on the side that connected. */
export interface Entry {
  /** The player or device, as the token says. */
  readonly name?: string | undefined;
  /** The name that was entered. */
  readonly room?: string | undefined;
  readonly role?: string | undefined;
  readonly address?: string | undefined;
}

/**
 * A two-way connection to another task, on the best carrier there is. What is put arrives by the laws of the updatable
 * queue (`spec/QUEUE.md`), over any loss or change of the carrier.
 */
export class Channel implements AsyncIterable<ChannelMessage> {
  readonly entry: Entry;
  readonly #driver: Driver;
  readonly #inbox: Inbox;
  readonly #commands = new Commands();
  readonly #emitter = new Emitter<ChannelEvents>();
  readonly #lanes = new Map<number, Lane>();
  #messageListeners = 0;
  #resumed = 0;
  #closed: Closed | undefined;
  #told: readonly [ChannelPhase, CarrierKind | undefined];
  #drained: { resolve(): void; reject(error: unknown): void }[] = [];

  /** Made by `connect` and `listen`. */
  constructor(driver: Driver, entry: Entry = {}) {
    this.entry = entry;
    this.#driver = driver;
    this.#inbox = new Inbox(driver.session);
    this.#told = [this.status.phase, driver.carrierKind];
  }

  /** The newest value of a key, on lane 0. See {@link Lane.state}. */
  state(key: number | bigint, value: Uint8Array): boolean {
    return this.lane(0).state(key, value);
  }

  /** Something that happened, on lane 0. See {@link Lane.event}. */
  event(value: Uint8Array, options?: EventOptions): number | false {
    return this.lane(0).event(value, options);
  }

  /** Something that wants an answer, on lane 0. See {@link Lane.command}. */
  command(value: Uint8Array, options?: CommandOptions): Promise<Uint8Array> {
    return this.lane(0).command(value, options);
  }

  /** Answers a command, whatever lane it came on. */
  reply(command: CommandMessage, value: Uint8Array): boolean {
    return this.lane(checkCommand(command).lane).reply(command, value);
  }

  /** A lane of its own order: 0 to 7 by default. What is put on other lanes does not wait for it. */
  lane(number: number): Lane {
    let lane = this.#lanes.get(number);
    if (lane === undefined) {
      lane = new Lane(number, this.#driver, this.#commands);
      this.#lanes.set(number, lane);
    }
    return lane;
  }

  /** Lets a source fill what room the packets have, besides the queue of the lane. */
  replicate(lane: number, source: ReplicationSource | undefined): void {
    this.#driver.session.replicate(lane, source);
    this.#driver.wake();
  }

  /** A replication source has something new. */
  wake(): void {
    this.#driver.wake();
  }

  /** The next message; `undefined` when the channel is closed and everything was received. */
  receive(): Promise<ChannelMessage | undefined> {
    return new Promise((resolve) => {
      const message = this.tryReceive();
      if (message !== undefined || this.#closed !== undefined) resolve(message);
      else this.#inbox.wait(resolve);
    });
  }

  /** The next message, if there is one now. */
  tryReceive(): ChannelMessage | undefined {
    const message = this.#inbox.take();
    // What was taken gives the peer room.
    if (message !== undefined) this.#driver.wake();
    return message;
  }

  /** All messages, until the channel closes. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ChannelMessage, void> {
    for (let next = await this.receive(); next !== undefined; next = await this.receive()) yield next;
  }

  /** Listens; the returned function stops that. */
  on<K extends keyof ChannelEvents>(type: K, listener: (event: ChannelEvents[K]) => void): () => void {
    const off = this.#emitter.on(type, listener);
    if (type !== "message") return off;
    this.#messageListeners += 1;
    this.#inbox.listener ??= (message) => this.#emitter.emit("message", message);
    this.#driver.wake();
    let isListening = true;
    return () => {
      off();
      if (isListening) this.#messageListeners -= 1;
      isListening = false;
      if (this.#messageListeners === 0) this.#inbox.listener = undefined;
    };
  }

  /** How the channel is now. Cheap to ask a few times a second. */
  get status(): ChannelStatus {
    return readStatus(this.#driver, { resumed: this.#resumed, closed: this.#closed });
  }

  /** Waits until all that was put has arrived at the peer; refused if the channel closes, or closed, before. */
  drained(): Promise<void> {
    if (this.#closed !== undefined) {
      const isSettled = this.#driver.session.isSettled;
      return isSettled ? Promise.resolve() : Promise.reject(closedError(this.#closed));
    }
    return new Promise((resolve, reject) => {
      this.#drained.push({ resolve, reject });
      this.#driver.wake();
    });
  }

  /**
   * Ends the channel at once, and tells the peer `code` (0, or 64 and above for the application's own) and `reason`. What
   * has not arrived is given up: wait for {@link drained} first.
   */
  close(code: number = CloseCode.done, reason = ""): void {
    this.#driver.close(code, reason);
  }

  /** Called by what runs the channel, after anything happened. */
  changed(): void {
    const { session } = this.#driver;
    this.#inbox.deliver();
    if (!this.#inbox.isWanted && !this.#commands.isEmpty) session.receiveReplies(performance.now() * 1_000);
    for (let notice = session.pollNotice(); notice; notice = session.pollNotice()) this.#notice(notice);
    if (this.#drained.length > 0 && session.isSettled) {
      for (const { resolve } of this.#drained.splice(0)) resolve();
    }
    this.#tellStatus();
  }

  #notice(notice: Notice): void {
    switch (notice.type) {
      case "opened":
        if (notice.resumed) this.#resumed += 1;
        return;
      case "closed":
        return this.#end(notice.closed);
      case "expired":
        return this.#emitter.emit("expired", { lane: notice.lane, event: notice.event });
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
    for (const { reject } of this.#drained.splice(0)) reject(error);
    this.#inbox.end();
  }

  #tellStatus(): void {
    const { session, carrierKind } = this.#driver;
    const phase = session.isClosed ? "closed" : session.isOpen ? "open" : "interrupted";
    if (this.#told[0] === phase && this.#told[1] === carrierKind) return;
    this.#told = [phase, carrierKind];
    this.#emitter.emit("status", this.status);
  }
}

/** The end of a channel as an error for those who wait for something. */
export function closedError({ code, reason, by }: Closed): NowcastError {
  const name = Object.entries(CloseCode).find(([, known]) => known === code)?.[0] ?? "code";
  const words = `the channel is closed: ${name} (${code})${reason === "" ? "" : `, ${reason}`}`;
  if (by === "silence") return new NowcastError("network", words);
  if (by === "us" && code >= CloseCode.malformed && code <= CloseCode.violation) {
    return new NowcastError("peer-misbehaved", words);
  }
  return new NowcastError(code === CloseCode.version ? "peer-incompatible" : "refused", words);
}
