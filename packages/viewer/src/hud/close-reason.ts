/** What ended a connection, and what a person can do about it. */
export interface CloseReason {
  cause: string;
  cure: string;
}

/** Of the SDK's words about a refusal: the endpoint's word for it, the cause and the cure. */
const REFUSAL = /: ([a-z_]+); ([^;]+); ([^;]+)$/;
/** The server answers, and lets nobody in: a room that is full or closes, or too many of one address. */
const REFUSALS: ReadonlySet<number> = new Set([69, 70, 4403]);

/** Whether the server refuses for now, so that what a person can do is worth showing while the page tries again. */
export function isRefusal(code: number): boolean {
  return REFUSALS.has(code);
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

/**
 * Explains the codes of sessions (below 1,000: spec/SESSION.md section 12, spec/WORLD.md section 7), the close codes of the
 * plain protocol (spec/PLAIN.md, section 5) and those of WebSocket itself.
 */
export function explainClose(code: number, reason: string): CloseReason {
  const [, word, why = reason || "no reason given", remedy] = REFUSAL.exec(reason) ?? [];
  switch (code) {
    case 0:
    case 1000:
      return { cause: "You have left the room.", cure: "Join again whenever you like." };
    case 10:
    case 1001:
      return {
        cause: "The server is shutting down.",
        cure: "It is often back in a moment: then join again.",
      };
    case 1006:
      return {
        cause: "The server cannot be reached.",
        cure: "Check that it runs and that the network is up.",
      };
    case 4:
      return {
        cause: "The connection was lost for too long.",
        cure: "Check that the network is up, then join again.",
      };
    case 5:
      return {
        cause: "This page and the server are of different versions.",
        cure: "Reload the page to get the version that belongs to the server.",
      };
    case 69:
    case 70:
    case 4403:
      return {
        cause: `${word === "full" || code === 70 ? "There is no place for you now" : "The server does not let you in now"}: ${why}.`,
        cure: sentence(remedy ?? "try again in a moment, or enter another room"),
      };
    case 9:
      return {
        cause: `This world lets in who has a token: ${reason === "" ? "this one is not good" : why}.`,
        cure: "Ask whoever runs it for a link with a new token: it ends in ?token=…",
      };
    case 1009:
      return {
        cause: "The server got a message that was too large.",
        cure: "Reload the page to get its newest version.",
      };
    case 1:
    case 2:
    case 3:
    case 64:
    case 65:
    case 4000:
    case 4001:
      return {
        cause: `The server did not understand this page (${reason || "no reason given"}).`,
        cure: "Reload the page to get the version that belongs to the server.",
      };
    case 66:
    case 4008:
      return {
        cause: `This page sent too much (${reason || "too many messages"}).`,
        cure: "Join again; if it happens again, close other tabs in this room.",
      };
    case 67:
    case 4009:
      return {
        cause: "This connection could not keep up with the world.",
        cure: "Join again with fewer snapshots a second (Settings, Network).",
      };
    case 68:
    case 4010:
      return {
        cause: "The server heard nothing from this page for a minute.",
        cure: "Join again. A laptop that sleeps or a frozen tab causes this.",
      };
    default:
      return {
        cause: `The connection ended (${reason || `code ${code}`}).`,
        cure: "Join again; if it keeps happening, reload the page.",
      };
  }
}
