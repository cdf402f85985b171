import type { ErrorCode } from "nowcast";
import type { Connection, World } from "nowcast/world";
import { pageTexts } from "../texts.js";
import { type Ending, explainClose, isRefusal } from "./close-reason.js";

type Status = World["status"];

const GOOD_NEWS_MS = 2_500;

/** The reasons that the banner does not name while another attempt follows. */
const SHOWN_BY_STATE: ReadonlySet<ErrorCode> = new Set(["lost", "unreachable", "timed_out", "room_closed"]);

/** The quality of the connection to the server. */
export type Reach = "connecting" | "good" | "unstable" | "lost" | "closed";

/**
 * Returns the quality to show. A lost carrier alone is not shown, because most carriers are replaced within a
 * second. After a second without one, or 3 s of silence, the connection is lost, not unstable.
 */
export function reachOf(status: Status, connection: Connection): Reach {
  if (status === "connecting" || status === "closed") return status;
  if (connection === "steady") return "good";
  return status === "reconnecting" ? "lost" : connection;
}

/** The line that describes the connection; empty while it is good. */
export class ConnectionBanner {
  readonly #line: HTMLElement;
  readonly #otherRoom: HTMLElement | undefined;
  #reach: Reach = "closed";
  #hideTimer = 0;
  /**
   * The reason why the server refuses this client now. The banner shows the reason instead of the connection's state.
   */
  #refusal: string | undefined;
  #wasGood = false;

  /** `otherRoom` is a button that is shown while the server refuses this client. */
  constructor(line: HTMLElement, otherRoom?: HTMLElement) {
    this.#line = line;
    this.#otherRoom = otherRoom;
    this.#hide();
  }

  /** Shows the state of the world's connection. Call it once a frame. */
  update(status: Status, connection: Connection): void {
    this.show(reachOf(status, connection));
  }

  /** Shows a given state, for example when an attempt to connect begins. */
  show(reach: Reach): void {
    const before = this.#reach;
    if (reach === before) return;
    // While the server refuses this client, the page retries. The server's reason stays visible until an attempt
    // succeeds.
    if (this.#refusal !== undefined && reach !== "good" && reach !== "closed") return;
    this.#reach = reach;
    const wasAway = this.#wasGood && (before === "lost" || this.#refusal !== undefined);
    this.#refusal = undefined;
    this.#wasGood ||= reach === "good";
    if (reach === "good" && wasAway) return this.#announceReturn();
    if (reach === "good" || reach === "closed") return this.#hide();
    this.#write(pageTexts.reach[reach], false);
  }

  /**
   * Handles a connection that ended, if another attempt follows. Shows the server's reason, if there is one.
   */
  ended(error: Ending): void {
    const { cause, cure } = explainClose(error);
    // A broken connection and a room that goes on at another server have no useful reason, so only the state is shown.
    if (SHOWN_BY_STATE.has(error.code) && this.#reach !== "connecting") return;
    const isRefused = isRefusal(error);
    this.#refusal = pageTexts.tryingAgain(isRefused ? `${cause} ${cure}` : cause);
    this.#reach = "lost";
    this.#write(this.#refusal, false);
    this.#line.title = `${cause} ${cure}`;
    this.#showOtherRoom(isRefused);
  }

  /** Resets the banner, for example because the room is left. */
  reset(): void {
    this.#reach = "closed";
    this.#refusal = undefined;
    this.#wasGood = false;
    this.#hide();
  }

  #announceReturn(): void {
    this.#write(pageTexts.backAgain, true);
    this.#hideTimer = window.setTimeout(() => this.#hide(), GOOD_NEWS_MS);
  }

  #hide(): void {
    window.clearTimeout(this.#hideTimer);
    this.#line.hidden = true;
    this.#showOtherRoom(false);
  }

  #write(text: string, good: boolean): void {
    window.clearTimeout(this.#hideTimer);
    this.#line.textContent = text;
    this.#line.title = "";
    this.#line.classList.toggle("good", good);
    this.#line.hidden = false;
    this.#showOtherRoom(false);
  }

  #showOtherRoom(isShown: boolean): void {
    if (this.#otherRoom) this.#otherRoom.hidden = !isShown;
  }
}
