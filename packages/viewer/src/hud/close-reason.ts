import type { NowcastError } from "nowcast";

/** What ended a connection, and what a person can do about it. */
export interface CloseReason {
  cause: string;
  cure: string;
}

/** What is shown of an error of the SDK. */
export type Ending = Pick<NowcastError, "fault" | "code" | "cause" | "cure">;

/** The server answers, and lets nobody in now: what a person can do is worth showing while the page tries again. */
export function isRefusal({ fault, code }: Ending): boolean {
  return fault === "refused" && code !== "done" && code !== "going_away";
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

/**
 * Explains why a connection ended, by the code of the error and never by its words, so that each sentence here can be
 * translated. The server's own words are shown where they say more than a code can.
 */
export function explainClose({ code, cause, cure }: Ending): CloseReason {
  switch (code) {
    case "done":
    case "closed_here":
      return { cause: "You have left the room.", cure: "Join again whenever you like." };
    case "going_away":
      return {
        cause: "The server is shutting down.",
        cure: "It is often back in a moment: then join again.",
      };
    case "unreachable":
    case "timed_out":
      return {
        cause: "The server cannot be reached.",
        cure: "Check that it runs and that the network is up.",
      };
    case "lost":
      return {
        cause: "The connection was lost.",
        cure: "Check that the network is up, then join again.",
      };
    case "version":
    case "no_carrier":
      return {
        cause: "This page and the server are of different versions.",
        cure: "Reload the page to get the version that belongs to the server.",
      };
    case "full":
    case "room_closed":
    case "too_many":
      return { cause: `There is no place for you now: ${cause}.`, cure: sentence(cure) };
    case "not_encrypted":
      return {
        cause:
          "The server wants an encrypted connection from other machines, and this page came without one.",
        cure: sentence(cure),
      };
    case "wrong_origin":
    case "wrong_host":
    case "no_such_name":
    case "bad_request":
    case "refused":
      return { cause: `The server does not let you in now: ${cause}.`, cure: sentence(cure) };
    case "unauthorised":
      return {
        cause: `This world lets in who has a token: ${cause}.`,
        cure: "Ask whoever runs it for a link with a new token: it ends in ?token=…",
      };
    case "limit_exceeded":
      return {
        cause: "The server got a message that was too large.",
        cure: "Reload the page to get its newest version.",
      };
    case "malformed":
    case "out_of_bounds":
    case "violation":
    case "invalid_argument":
      return {
        cause: `The server and this page did not understand each other (${cause}).`,
        cure: "Reload the page to get the version that belongs to the server.",
      };
    case "too_many_messages":
    case "lane_full":
      return {
        cause: `This page sent too much (${cause}).`,
        cure: "Join again; if it happens again, close other tabs in this room.",
      };
    case "too_slow":
      return {
        cause: "This connection could not keep up with the world.",
        cure: "Join again with fewer snapshots a second (Settings, Network).",
      };
    case "idle":
      return {
        cause: "The server heard nothing from this page for a minute.",
        cure: "Join again. A laptop that sleeps or a frozen tab causes this.",
      };
    case "closed":
      return {
        cause: `The connection ended (${cause}).`,
        cure: "Join again; if it keeps happening, reload the page.",
      };
  }
}
