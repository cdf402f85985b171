import type { NowcastError } from "nowcast";
import { pageTexts } from "../texts.js";

/** The reason why a connection ended, and what the user can do. */
export interface CloseReason {
  cause: string;
  cure: string;
}

/** The part of an SDK error that is shown. */
export type Ending = Pick<NowcastError, "fault" | "code" | "reason" | "cure">;

/**
 * Whether the server answers but refuses clients at present. The page shows the error's `cure` while it
 * retries.
 */
export function isRefusal({ fault, code }: Ending): boolean {
  return fault === "refused" && code !== "done" && code !== "going_away";
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

/** Uses the server's own cure instead of the error code's. A full server writes it after its cause. */
function splitCure(reason: string, cure: string): CloseReason {
  const [, cause = reason, own = cure] = /^(.*): (.*)$/.exec(reason) ?? [];
  return { cause, cure: sentence(own) };
}

/**
 * Explains why a connection ended. The explanation is selected by the code of the error and not by its text,
 * so that each sentence can be translated. The server's own text is shown if it has more details than a code.
 */
export function explainClose({ code, reason, cure }: Ending): CloseReason {
  const { ends } = pageTexts;
  const said = { cause: reason, cure: sentence(cure) };
  switch (code) {
    case "done":
    case "closed_here":
      return ends.left();
    case "going_away":
      return ends.goingAway();
    case "unreachable":
    case "timed_out":
      return ends.unreachable();
    case "lost":
    case "unanswered":
      return ends.lost();
    case "version":
    case "no_carrier":
      return ends.version();
    case "full":
      return ends.noPlace(splitCure(reason, cure));
    case "room_closed":
    case "too_many":
      return ends.noPlace(said);
    case "not_encrypted":
      return ends.notEncrypted(said);
    case "wrong_origin":
    case "wrong_host":
    case "no_such_name":
    case "bad_request":
    case "refused":
      return ends.refused(said);
    case "unauthorised":
      return ends.unauthorised(said);
    case "limit_exceeded":
      return ends.tooLarge();
    case "malformed":
    case "out_of_bounds":
    case "violation":
    case "invalid_argument":
      return ends.misunderstood(said);
    case "too_many_messages":
    case "lane_full":
      return ends.tooMuch(said);
    case "too_slow":
      return ends.tooSlow();
    case "idle":
      return ends.idle();
    case "replaced":
      return ends.replaced(said);
    case "banned":
      return ends.banned(said);
    case "kicked":
      return ends.kicked(said);
    case "closed":
      return ends.closed(said);
  }
}
