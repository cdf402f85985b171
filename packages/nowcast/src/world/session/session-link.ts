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
  /** Called when there is a new session. */
  opened(channel: Channel): void;
  /** Called with the payloads of the server's replication source. */
  replicated(payload: Uint8Array, arrivedAtMs: number): void;
  /** Called when the session has lost its carrier, or continues over another one. */
  interrupted(isInterrupted: boolean): void;
  message(message: ChannelMessage): void;
  /** `retryInMs` is `undefined` if there will be no further attempt. */
  lost(error: NowcastError, retryInMs: number | undefined): void;
}

/** Opens one session after another to the same world. */
export class SessionLink {
  channel: Channel | undefined;
  readonly #url: string;
  readonly #options: JoinOptions;
  readonly #handlers: SessionLinkHandlers;
  readonly #end: AbortController;
  #releases: (() => void)[] = [];
  #attempts = 0;
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
  }

  /** Gives up the current session; `final` ends all attempts. */
  abandon(code: number, error: NowcastError, final: boolean): void {
    const { channel } = this;
    if (channel === undefined) return;
    this.#lost(error, final);
    channel.close(code, error.message);
  }

  close(): void {
    this.#end.abort();
    clearTimeout(this.#retryTimer);
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
    this.#handlers.opened(channel);
    channel.receiveReplication(this.#handlers.replicated);
    this.#releases = [
      channel.on("status", (status) => this.#statusChanged(status)),
      channel.on("message", (message) => this.#handlers.message(message)),
    ];
    if (channel.status.phase === "closed") this.#statusChanged(channel.status);
  }

  #statusChanged({ phase, closed }: ChannelStatus): void {
    if (phase !== "closed") return this.#handlers.interrupted(phase === "interrupted");
    const { code, reason } = closed ?? { code: CloseCode.gaveUp, reason: "" };
    if (code === ROOM_ENDED && this.#attempts === 0) this.#returnsAtOnce = true;
    this.#lost(worldEnd(code, reason), FINAL_CODES.has(code));
  }

  #lost(error: NowcastError, final: boolean): void {
    if (this.channel === undefined) return;
    this.channel = undefined;
    this.#release();
    this.#retry(error, final);
  }

  #retry(error: NowcastError, final: boolean): void {
    if (final || this.#options.reconnect === false) return this.#handlers.lost(error, undefined);
    const pauseMs = backOffMs(this.#attempts++, Math.random());
    const retryInMs = this.#returnsAtOnce ? Math.random() * AT_ONCE_MS_MAX : pauseMs;
    this.#returnsAtOnce = false;
    const again = () => void this.#connect(connectSession(this.#url, this.#options, this.#end.signal));
    this.#retryTimer = setTimeout(again, retryInMs);
    this.#handlers.lost(error, retryInMs);
  }

  #release(): void {
    for (const release of this.#releases.splice(0)) release();
  }
}
