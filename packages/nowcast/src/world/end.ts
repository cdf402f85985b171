import type { ErrorCode, Fault } from "../errors/nowcast-error.js";
import { NowcastError } from "../errors/nowcast-error.js";
import { CloseCode } from "../session/fault.js";

type Meaning = readonly [ErrorCode, Fault];

const INCOMPATIBLE = "peer-incompatible";

/** The meaning of the codes with which sessions end: `spec/SESSION.md`, section 12, and `spec/WORLD.md`, section 7. */
const MEANINGS: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [CloseCode.done, ["done", "refused"]],
  [CloseCode.malformed, ["malformed", INCOMPATIBLE]],
  [CloseCode.limitExceeded, ["limit_exceeded", INCOMPATIBLE]],
  [CloseCode.violation, ["violation", INCOMPATIBLE]],
  [CloseCode.gaveUp, ["lost", "network"]],
  [CloseCode.version, ["version", INCOMPATIBLE]],
  [CloseCode.unknownSession, ["lost", "network"]],
  [CloseCode.wrongToken, ["lost", "network"]],
  [CloseCode.busy, ["full", "refused"]],
  [CloseCode.unauthorised, ["unauthorised", "refused"]],
  [CloseCode.goingAway, ["going_away", "refused"]],
  [64, ["malformed", INCOMPATIBLE]],
  [65, ["out_of_bounds", INCOMPATIBLE]],
  [66, ["too_many_messages", "misuse"]],
  [67, ["too_slow", "network"]],
  [68, ["idle", "network"]],
  [69, ["room_closed", "refused"]],
  [70, ["full", "refused"]],
  [71, ["unauthorised", "refused"]],
  [72, ["replaced", "refused"]],
  [73, ["banned", "refused"]],
  [74, ["unauthorised", "refused"]],
  [75, ["kicked", "refused"]],
  [76, ["unauthorised", "refused"]],
]);

const WHEN_CROWDED = "try again in a moment, or enter another room";
const WHEN_TOO_MANY =
  "send fewer: docs/reference/limits.md lists the rates; messages over them are answered by refused and unsaid";

/**
 * Makes the error for the end of a connection to a world, from the server's close code and text.
 */
export function worldEnd(closeCode: number, reason: string): NowcastError {
  const [code, fault] = MEANINGS.get(closeCode) ?? (["closed", "refused"] as const);
  const cause = reason === "" ? `the connection ended (${closeCode})` : reason;
  return new NowcastError(fault, cause, { code, closeCode, cure: cureOf(code) });
}

function cureOf(code: ErrorCode): string | undefined {
  if (code === "full" || code === "room_closed") return WHEN_CROWDED;
  return code === "too_many_messages" ? WHEN_TOO_MANY : undefined;
}
