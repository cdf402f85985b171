/** The first step of joining by a session, which runs while the decoder of a world is still being loaded. */
import type { Channel } from "../../channel/channel.js";
import { connect } from "../../connect/connect.js";
import { NowcastError } from "../../errors/nowcast-error.js";
import type { JoinOptions } from "../world.js";

/** Maximum time from the request for the endpoint's record to an open session. */
const HANDSHAKE_MS_MAX = 15_000;

/** A session that is being opened. */
export interface ConnectAttempt {
  /** Resolves to the session, or is rejected with a `NowcastError`. */
  readonly channel: Promise<Channel>;
  /** Ends this attempt, and closes any session that it opens. */
  readonly end: AbortController;
}

/** Begins to open the first session to a world. */
export function beginConnectAttempt(url: string, options: JoinOptions): ConnectAttempt {
  const end = new AbortController();
  const channel = connectSession(url, options, end.signal);
  // The caller handles the error.
  channel.catch(() => {});
  return { channel, end };
}

/** Opens a session, unless `end` comes first. */
export async function connectSession(
  url: string,
  { token, carriers, WebSocket, impair }: JoinOptions,
  end: AbortSignal,
): Promise<Channel> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(noSession()), HANDSHAKE_MS_MAX);
  try {
    const signal = AbortSignal.any([end, limit.signal]);
    return await connect(url, { token, carriers, WebSocket, impair, signal });
  } finally {
    clearTimeout(timer);
  }
}

function noSession(): NowcastError {
  return new NowcastError("network", `no session began within ${HANDSHAKE_MS_MAX / 1_000} s`, {
    code: "timed_out",
  });
}
