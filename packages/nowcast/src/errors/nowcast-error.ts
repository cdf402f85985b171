/** The party at fault. This party has to change something so that the error does not occur again. */
export type Fault =
  /** The server violated its protocol. */
  | "peer-misbehaved"
  /** The server works, but speaks a version that this SDK does not support. */
  | "peer-incompatible"
  /**
   * The other side refuses: the name is unknown, a token is missing, or the endpoint is full. The refusal's text names
   * a remedy.
   */
  | "refused"
  /** No program answers, or the program stopped answering. */
  | "network"
  /** The calling program passed an invalid argument. */
  | "misuse";

/**
 * The error code for programs. Switch on it, never on texts, which are for people and may change. New codes may come
 * with new releases; use {@link Fault} for codes that a program does not know.
 */
export const ERROR_CODES = [
  // Misuse.
  "invalid_argument",
  "lane_full",
  "closed_here",
  // Network: no answer at the address, no answer in time, and no answer after a while. A request without an answer may have
  // been carried out.
  "unreachable",
  "timed_out",
  "lost",
  "unanswered",
  // The peer broke a rule of a format or a protocol, a limit, or an order.
  "malformed",
  "out_of_bounds",
  "limit_exceeded",
  "violation",
  // The releases of the two sides are not compatible.
  "version",
  "no_carrier",
  // The other side refuses before a session begins, with a code of `spec/CARRIERS.md`, section 2,
  // or with another code.
  "unauthorised",
  "wrong_origin",
  "wrong_host",
  "not_encrypted",
  "no_such_name",
  "too_many",
  "full",
  "bad_request",
  "refused",
  // The other side ends an open channel: normally, for its own reasons, or for a reason of a world.
  "done",
  "going_away",
  "room_closed",
  "replaced",
  "banned",
  "kicked",
  "too_many_messages",
  "too_slow",
  "idle",
  "closed",
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** The default advice for each party at fault. */
const USUAL: Record<Fault, { readonly code: ErrorCode; readonly cure: string }> = {
  "peer-misbehaved": {
    code: "malformed",
    cure: "use releases of both sides that belong together; if they do, report it",
  },
  "peer-incompatible": { code: "version", cure: "use releases of both sides that belong together" },
  refused: { code: "refused", cure: "see the reason, or ask the operator of the other side" },
  network: { code: "unreachable", cure: "check that the other side runs and that the network is up" },
  misuse: { code: "invalid_argument", cure: "pass the values that the documentation of the call names" },
};

export interface ErrorDetails {
  readonly code?: ErrorCode | undefined;
  readonly cure?: string | undefined;
  /** The whole sentence. Default: the reason, followed by the cure if there is one. */
  readonly message?: string | undefined;
  /** The original error: The standard property `Error.cause`. */
  readonly cause?: unknown;
  readonly closeCode?: number | undefined;
}

/**
 * The type of every error that this SDK reports: the party at fault, a code for programs, and reason and cure for
 * people.
 */
export class NowcastError extends Error {
  readonly fault: Fault;
  readonly code: ErrorCode;
  /** What failed and where, in the other side's words if that side sent any. Show it as text, never as markup. */
  readonly reason: string;
  /** The advice for the program or the person. */
  readonly cure: string;
  /** The code in the close frame or CLOSE that ended the channel, if there was one. */
  readonly closeCode: number | undefined;

  constructor(fault: Fault, reason: string, details: ErrorDetails = {}) {
    const message = details.message ?? (details.cure === undefined ? reason : `${reason}: ${details.cure}`);
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "NowcastError";
    this.fault = fault;
    this.code = details.code ?? USUAL[fault].code;
    this.reason = reason;
    this.cure = details.cure ?? USUAL[fault].cure;
    this.closeCode = details.closeCode;
  }
}

/**
 * Returns our own errors unchanged, and converts others to a network error. Platforms report almost nothing about a
 * failed connection.
 */
export function asNowcastError(error: unknown): NowcastError {
  if (error instanceof NowcastError) return error;
  return new NowcastError("network", error instanceof Error ? error.message : String(error), {
    cause: error,
  });
}

/** An error about invalid bytes. It has the position where reading stopped, and the field. */
export class WireError extends NowcastError {
  /** The fault, without the place. */
  readonly detail: string;
  /** Offset in bytes from the start of the message. */
  readonly offset: number;
  /** The field's path from the root, joined by dots; empty where there are none. */
  readonly path: string;

  constructor(detail: string, offset: number, path = "", cure?: string) {
    super("peer-misbehaved", `${path === "" ? "" : `${path}: `}${detail} (byte ${offset})`, { cure });
    this.name = "WireError";
    this.detail = detail;
    this.offset = offset;
    this.path = path;
  }
}

/** Names a value in an error: `a string`, `a Float32Array`, `null`. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  const name = Object.prototype.toString.call(value).slice(8, -1);
  const word = typeof value === "object" ? name : typeof value;
  return `${/^[AEIOUaeiou]/.test(word) ? "an" : "a"} ${word}`;
}
