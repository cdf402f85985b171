import type { StudioApi } from "./api/studio-api.js";
import type { Session } from "./api/types.js";
import type { RoomLog } from "./room-log.js";

/** Places that one tab opens in another. The tab sets its function when it is made. */
export interface Jumps {
  code: ((file: string, line: number) => void) | undefined;
  step: ((tick: number) => void) | undefined;
}

/** The parts of the studio that every tab uses. */
export interface Context {
  readonly jumps: Jumps;
  readonly api: StudioApi;
  readonly session: Session;
  /** The log of the chosen room. */
  readonly log: RoomLog;
  /** The chosen room; `undefined` if no room is open. */
  readonly room: string | undefined;
  /** The world that the chosen room shows, or the first world. */
  readonly world: string | undefined;
  /** Shows a message at the foot of the page; `problem` stays until the next message. */
  say(text: string, type?: "note" | "problem"): void;
  /** Runs a request of the user, and shows its error. Returns false if it failed. */
  attempt(run: () => Promise<unknown>): Promise<boolean>;
  /** Opens a place of a file in the tab `Code`. */
  openCode(file: string, line: number): void;
  /** Opens a step of the history in the tab `Time`. */
  openStep(tick: number): void;
}

/** A tab of the studio. Its panel is made when the tab is opened for the first time. */
export interface Tab {
  readonly panel: HTMLElement;
  /** The tab is visible from now on, or the room was changed while it is visible. */
  shown(): void;
  hidden(): void;
}
