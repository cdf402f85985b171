/** What ended a connection, and what a person can do about it. */
export interface CloseReason {
  cause: string;
  cure: string;
}

/** Explains the close codes of the plain protocol (spec/PLAIN.md, section 5) and of WebSocket itself. */
export function explainClose(code: number, reason: string): CloseReason {
  switch (code) {
    case 1000:
      return { cause: "You have left the room.", cure: "Join again whenever you like." };
    case 1001:
      return {
        cause: "The server is shutting down.",
        cure: "It is often back in a moment: then join again.",
      };
    case 1006:
      return {
        cause: "The server cannot be reached.",
        cure: "Check that it runs and that the network is up. The room may also be full.",
      };
    case 1009:
      return {
        cause: "The server got a message that was too large.",
        cure: "Reload the page to get its newest version.",
      };
    case 4000:
    case 4001:
      return {
        cause: `The server did not understand this page (${reason || "no reason given"}).`,
        cure: "Reload the page to get the version that belongs to the server.",
      };
    case 4008:
      return {
        cause: `This page sent too much (${reason || "too many messages"}).`,
        cure: "Join again; if it happens again, close other tabs in this room.",
      };
    case 4009:
      return {
        cause: "This connection could not keep up with the world.",
        cure: "Join again with fewer snapshots a second (Settings, Network).",
      };
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
