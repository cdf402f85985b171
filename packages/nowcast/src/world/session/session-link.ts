import type { Channel } from "../../channel/channel.js";
import type { ChannelMessage } from "../../channel/message.js";
import type { ChannelStatus } from "../../channel/status.js";
import { asNowcastError, type ErrorCode, type NowcastError } from "../../errors/nowcast-error.js";
import { CloseCode } from "../../session/fault.js";
import { backOffMs } from "../back-off.js";
import { worldEnd } from "../end.js";
import type { JoinOptions } from "../world.js";
import { type ConnectAttempt, connectSession } from "./connect-session.js";

/**
 * Codes after which the same client would be refused again: `spec/SESSION.md` section 12,
 * `spec/WORLD.md` section 7.
 */
const FINAL_CODES: ReadonlySet<number> = new Set([
  CloseCode.malformed,
  CloseCode.limitExceeded,
  CloseCode.violation,
  CloseCode.version,
  CloseCode.unauthorised,
  64,
  65,
  71,
  72,
  73,
  74,
  75,
  76,
]);
/** The code for a room that has ended, or that moves to another server. Clients may join again at once. */
const ROOM_ENDED = 69;
/** Maximum time from the end of a session until the server to which the room moved sends. Then the client joins anew. */
const STANDBY_MS_MAX = 3_000;
/** Maximum time for which the messages of the server to which the room moved wait for those of the previous one. */
const FORMER_MS_MAX = 3_000;
/** Maximum pause before the first attempt after such an end. */
const AT_ONCE_MS_MAX = 20;
/**
 * Whether another attempt would fail in the same way, because the program would send the same
 * messages and present the same token.
 */
const FINAL: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "invalid_argument",
  "unauthorised",
  "version",
  "no_carrier",
]);

export interface SessionLinkHandlers {
  /** Called when there is a new session, in which the client is to join. */
  opened(channel: Channel): void;
  /** Called before the first message of a session. Messages of an earlier session no longer follow. */
  began(): void;
  /** Called with the payloads of the server's replication source. */
  replicated(payload: Uint8Array, arrivedAtMs: number): void;
  /** Called when the session has lost its carrier, or continues over another one. */
  interrupted(isInterrupted: boolean): void;
  message(message: ChannelMessage): void;
  /** Called with the last messages of the session from which the room has moved. */
  formerMessage(message: ChannelMessage): void;
  /** Called when no message of that session follows. */
  formerEnded(): void;
  /** `retryInMs` is `undefined` if there will be no further attempt. */
  lost(error: NowcastError, retryInMs: number | undefined): void;
}

/** A session to the server to which the room moves, in addition to the session to the current owner. */
interface Standby {
  /** `undefined` while the session is being opened. */
  channel: Channel | undefined;
  /** Gives up opening the session. */
  readonly end: AbortController;
  releases: readonly (() => void)[];
}

/** The session to the server from which the room has moved. That server ends it when all its messages have arrived. */
interface Former {
  readonly channel: Channel;
  readonly releases: readonly (() => void)[];
  readonly timer: ReturnType<typeof setTimeout>;
}

/** Opens one session after another to the same world. */
export class SessionLink {
  channel: Channel | undefined;
  readonly #url: string;
  readonly #options: JoinOptions;
  readonly #handlers: SessionLinkHandlers;
  readonly #end: AbortController;
  #releases: readonly (() => void)[] = [];
  #standby: Standby | undefined;
  #former: Former | undefined;
  /** The end of the last session, if the room moved and the server to which it moved has not sent anything. */
  #moved: NowcastError | undefined;
  #attempts = 0;
  #isProved = false;
  /** Whether the next attempt needs no pause. */
  #returnsAtOnce = false;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;

  /** `first` is the first session, which is being opened. */
  constructor(url: string, options: JoinOptions, handlers: SessionLinkHandlers, first: ConnectAttempt) {
    this.#url = url;
    this.#options = options;
    this.#handlers = handlers;
    this.#end = first.end;
    void this.#connect(first.channel);
  }

  /** Records that the session worked. After the next loss, the first attempt follows soon. */
  proved(): void {
    this.#attempts = 0;
    this.#isProved = true;
  }

  /** Gives up the current session; `final` ends all attempts. */
  abandon(code: number, error: NowcastError, final: boolean): void {
    const { channel } = this;
    if (channel === undefined) return;
    this.#lost(error, final);
    channel.close(code, error.message);
  }

  /** Whether messages of the session from which the room has moved may follow. */
  get hasFormer(): boolean {
    return this.#former !== undefined;
  }

  /** Gives up the session from which the room has moved. */
  endFormer(): void {
    if (this.#former === undefined) return;
    this.#dropFormer();
    this.#handlers.formerEnded();
  }

  /** Whether a session is the current session, or the session to the server to which the room moves. */
  has(channel: Channel): boolean {
    return channel === this.channel || channel === this.#standby?.channel;
  }

  /**
   * Opens a session to the server to which the room moves, while the current session continues. The client joins there, and
   * waits. That session becomes the current session with its first message.
   */
  prepare(url: string): void {
    if (this.channel === undefined || this.#options.reconnect === false) return;
    this.#dropStandby();
    const standby: Standby = { channel: undefined, end: new AbortController(), releases: [] };
    this.#standby = standby;
    void this.#openStandby(url, standby);
  }

  close(): void {
    this.#end.abort();
    clearTimeout(this.#retryTimer);
    this.#dropStandby();
    this.#dropFormer();
    this.#release();
    this.channel?.close();
    this.channel = undefined;
  }

  async #connect(opening: Promise<Channel>): Promise<void> {
    let channel: Channel;
    try {
      channel = await opening;
    } catch (error) {
      if (this.#end.signal.aborted) return;
      const known = asNowcastError(error);
      this.#retry(known, FINAL.has(known.code));
      return;
    }
    if (this.#end.signal.aborted) return channel.close();
    this.channel = channel;
    this.#handlers.began();
    this.#handlers.opened(channel);
    this.#releases = this.#listen(channel);
    if (channel.status.phase === "closed") this.#statusChanged(channel, channel.status);
  }

  async #openStandby(url: string, standby: Standby): Promise<void> {
    const signal = AbortSignal.any([this.#end.signal, standby.end.signal]);
    try {
      standby.channel = await connectSession(url, this.#options, signal);
    } catch {
      // Without this session, the client joins when the room has moved.
      return this.#standbyEnded(standby);
    }
    const { channel } = standby;
    if (signal.aborted) return channel.close();
    this.#handlers.opened(channel);
    standby.releases = this.#listen(channel);
    if (channel.status.phase === "closed") this.#standbyEnded(standby);
  }

  #listen(channel: Channel): readonly (() => void)[] {
    channel.receiveReplication((payload, arrivedAtMs) => {
      if (this.#isPresent(channel)) this.#handlers.replicated(payload, arrivedAtMs);
    });
    return [
      channel.on("status", (status) => this.#statusChanged(channel, status)),
      channel.on("message", (message) => {
        if (channel === this.#former?.channel) this.#handlers.formerMessage(message);
        else if (this.#isPresent(channel)) this.#handlers.message(message);
      }),
    ];
  }

  /** Whether a message belongs to the current session. The first message makes the waiting session the current session. */
  #isPresent(channel: Channel): boolean {
    const standby = this.#standby;
    if (channel !== standby?.channel) return channel === this.channel;
    this.#standby = undefined;
    clearTimeout(this.#retryTimer);
    this.endFormer();
    const former = this.channel;
    if (former !== undefined) {
      const timer = setTimeout(() => this.endFormer(), FORMER_MS_MAX);
      this.#former = { channel: former, releases: this.#releases, timer };
    }
    this.channel = channel;
    this.#releases = standby.releases;
    this.#moved = undefined;
    this.#handlers.began();
    return true;
  }

  #dropFormer(): void {
    const former = this.#former;
    this.#former = undefined;
    clearTimeout(former?.timer);
    for (const release of former?.releases ?? []) release();
    former?.channel.close();
  }

  #standbyEnded(standby: Standby): void {
    if (this.#standby !== standby) return;
    this.#dropStandby();
    if (this.channel !== undefined) return;
    if (this.#moved === undefined) this.#connectSoon();
    else this.#retry(this.#moved, false);
  }

  #dropStandby(): void {
    const standby = this.#standby;
    this.#standby = undefined;
    standby?.end.abort();
    for (const release of standby?.releases ?? []) release();
    standby?.channel?.close();
  }

  #statusChanged(channel: Channel, { phase, closed }: ChannelStatus): void {
    const standby = this.#standby;
    if (channel === standby?.channel) {
      if (phase === "closed") this.#standbyEnded(standby);
      return;
    }
    if (channel === this.#former?.channel) {
      if (phase === "closed") this.endFormer();
      return;
    }
    if (phase !== "closed") return this.#handlers.interrupted(phase === "interrupted");
    const { code, reason } = closed ?? { code: CloseCode.gaveUp, reason: "" };
    if (code === ROOM_ENDED && this.#attempts === 0) this.#returnsAtOnce = true;
    this.#lost(worldEnd(code, reason), FINAL_CODES.has(code));
  }

  #lost(error: NowcastError, final: boolean): void {
    if (this.channel === undefined) return;
    this.channel = undefined;
    this.#release();
    this.endFormer();
    this.#retry(error, final);
  }

  #retry(error: NowcastError, final: boolean): void {
    const { reconnect = true, retry = false } = this.#options;
    if (final || !(this.#isProved || this.#returnsAtOnce ? reconnect : retry)) {
      this.#dropStandby();
      return this.#handlers.lost(error, undefined);
    }
    const standby = this.#standby;
    this.#moved = undefined;
    if (standby !== undefined) {
      this.#retryTimer = setTimeout(() => this.#standbyEnded(standby), STANDBY_MS_MAX);
      if (error.closeCode !== ROOM_ENDED) return this.#handlers.lost(error, 0);
      // The room has stopped here, and begins there soon, so nothing is lost.
      this.#moved = error;
      return;
    }
    this.#handlers.lost(error, this.#connectSoon());
  }

  /** Begins the next attempt after a pause. Returns the pause in milliseconds. */
  #connectSoon(): number {
    clearTimeout(this.#retryTimer);
    const pauseMs = backOffMs(this.#attempts++, Math.random());
    const retryInMs = this.#returnsAtOnce ? Math.random() * AT_ONCE_MS_MAX : pauseMs;
    this.#returnsAtOnce = false;
    const again = () => void this.#connect(connectSession(this.#url, this.#options, this.#end.signal));
    this.#retryTimer = setTimeout(again, retryInMs);
    return retryInMs;
  }

  #release(): void {
    for (const release of this.#releases) release();
    this.#releases = [];
  }
}
