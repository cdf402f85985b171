import type { Closed } from "./fault.js";

/** A change of the session itself. */
export type Notice =
  | { readonly type: "opened"; readonly resumed: boolean }
  | { readonly type: "detached" }
  | { readonly type: "closed"; readonly closed: Closed }
  | { readonly type: "command timed out"; readonly lane: number; readonly command: number }
  | { readonly type: "reply"; readonly lane: number; readonly command: number; readonly value: Uint8Array };
