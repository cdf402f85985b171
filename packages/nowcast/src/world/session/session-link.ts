import type { Channel } from "../../channel/channel.js";
import type { ChannelMessage } from "../../channel/message.js";
import type { ChannelStatus } from "../../channel/status.js";
import { connect } from "../../connect/connect.js";
import { asNowcastError, type ErrorCode, NowcastError } from "../../errors/nowcast-error.js";
import { CloseCode } from "../../session/fault.js";
import { backOffMs } from "../back-off.js";
import { worldEnd } from "../end.js";
import type { JoinOptions } from "../world.js";

/** After these, the same client would be turned away again: `spec/SESSION.md` section 12, `spec/WORLD.md` section 7. */
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
]);
/** Another attempt would end alike: the same program would say the same, and show the same token. */
const FINAL: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "invalid_argument",
  "unauthorised",
  "version",
  "no_carrier",
]);

/** From asking the endpoint to an open session. */
const HANDSHAKE_MS_MAX = 15_000;

export interface SessionLinkHandlers {
  /** There is a new session. */
  opened(channel: Channel): void;
  /** The session has lost its carrier, or goes on over another. */
  interrupted(isInterrupted: boolean): void;
  message(message: ChannelMessage): void;
  /** `retryInMs` is `undefined` when there will be no other attempt. */
  lost(error: NowcastError, retryInMs: number | undefined): void;
}

function noSession(): NowcastError {
  return new NowcastError("network", `no session began within ${HANDSHAKE_MS_MAX / 1_000} s`, {
    code: "timed_out",
  });
}

/** One session after another to the same world. */
export class SessionLink {
  channel: Channel | undefined;
  readonly #url: string;
  readonly #options: JoinOptions;
  readonly #handlers: SessionLinkHandlers;
  readonly #end = new AbortController();
  #releases: (() => void)[] = [];
  #attempts = 0;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(url: string, options: JoinOptions, handlers: SessionLinkHandlers) {
    this.#url = url;
    this.#options = options;
    this.#handlers = handlers;
    void this.#connect();
  }

  /** The session turned out to be good: the next loss is retried soon again. */
  proved(): void {
    this.#attempts = 0;
  }

  /** Gives up the present session; `final` ends all attempts. */
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

  async #connect(): Promise<void> {
    const { token, carriers, WebSocket } = this.#options;
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(noSession()), HANDSHAKE_MS_MAX);
    let channel: Channel;
    try {
      const signal = AbortSignal.any([this.#end.signal, limit.signal]);
      channel = await connect(this.#url, { token, carriers, WebSocket, signal });
    } catch (error) {
      if (this.#end.signal.aborted) return;
      const known = asNowcastError(error);
      this.#retry(known, FINAL.has(known.code));
      return;
    } finally {
      clearTimeout(timer);
    }
    if (this.#end.signal.aborted) return channel.close();
    this.channel = channel;
    this.#handlers.opened(channel);
    this.#releases = [
      channel.on("status", (status) => this.#statusChanged(status)),
      channel.on("message", (message) => this.#handlers.message(message)),
    ];
    if (channel.status.phase === "closed") this.#statusChanged(channel.status);
  }

  #statusChanged({ phase, closed }: ChannelStatus): void {
    if (phase !== "closed") return this.#handlers.interrupted(phase === "interrupted");
    const { code, reason } = closed ?? { code: CloseCode.gaveUp, reason: "" };
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
    const retryInMs = backOffMs(this.#attempts++, Math.random());
    this.#retryTimer = setTimeout(() => void this.#connect(), retryInMs);
    this.#handlers.lost(error, retryInMs);
  }

  #release(): void {
    for (const release of this.#releases.splice(0)) release();
  }
}
