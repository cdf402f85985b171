import type { Connection } from "nowcast/world";
import { element } from "../dom.js";
import { words } from "../words.js";
import type { Status } from "../world-connection.js";
import { type Ending, explainClose, isRefusal } from "./close-reason.js";

const GOOD_NEWS_MS = 2_500;

/** How well the server can be reached. */
export type Reach = "connecting" | "good" | "unstable" | "lost" | "closed";

/** Returns the reach to show. A lost carrier alone changes nothing: most are replaced within a second. */
export function reachOf(status: Status, connection: Connection): Reach {
  if (status === "connecting" || status === "closed") return status;
  return connection === "steady" ? "good" : connection;
}

/** The line that describes the connection; empty while it is good. */
export class ConnectionBanner {
  readonly #line = element("banner", HTMLElement);
  readonly #otherRoom = element("banner-other", HTMLButtonElement);
  #reach: Reach = "closed";
  #hideTimer = 0;
  /** Shown instead of the state: why the server refuses this client now. */
  #refusal: string | undefined;
  #wasGood = false;

  /** Shows the state of the world's connection. Call it once a frame. */
  update(status: Status, connection: Connection): void {
    this.show(reachOf(status, connection));
  }

  /** Shows a state of its own accord, as when an attempt to connect begins. */
  show(reach: Reach): void {
    const before = this.#reach;
    if (reach === before) return;
    // While the server refuses, attempts follow one another. Its reason stays until one of them succeeds.
    if (this.#refusal !== undefined && reach !== "good" && reach !== "closed") return;
    this.#reach = reach;
    const wasAway = this.#wasGood && (before === "lost" || this.#refusal !== undefined);
    this.#refusal = undefined;
    this.#wasGood ||= reach === "good";
    if (reach === "good" && wasAway) return this.#announceReturn();
    if (reach === "good" || reach === "closed") return this.#hide();
    this.#write(words.reach[reach], false);
  }

  /** A connection ended and another attempt follows: shows the server's reason, if it gave one. */
  ended(error: Ending): void {
    const { cause, cure } = explainClose(error);
    // A broken connection has no useful reason; the state is enough.
    const isBroken = error.code === "lost" || error.code === "unreachable" || error.code === "timed_out";
    if (isBroken && this.#reach !== "connecting") return;
    const isRefused = isRefusal(error);
    this.#refusal = words.tryingAgain(isRefused ? `${cause} ${cure}` : cause);
    this.#reach = "lost";
    this.#write(this.#refusal, false);
    this.#line.title = `${cause} ${cure}`;
    this.#otherRoom.hidden = !isRefused;
  }

  /** Forgets everything, as when the room is left. */
  reset(): void {
    this.#reach = "closed";
    this.#refusal = undefined;
    this.#wasGood = false;
    this.#hide();
  }

  #announceReturn(): void {
    this.#write(words.backAgain, true);
    this.#hideTimer = window.setTimeout(() => this.#hide(), GOOD_NEWS_MS);
  }

  #hide(): void {
    window.clearTimeout(this.#hideTimer);
    this.#line.hidden = true;
    this.#otherRoom.hidden = true;
  }

  #write(text: string, good: boolean): void {
    window.clearTimeout(this.#hideTimer);
    this.#line.textContent = text;
    this.#line.title = "";
    this.#line.classList.toggle("good", good);
    this.#line.hidden = false;
    this.#otherRoom.hidden = true;
  }
}
