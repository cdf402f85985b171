import { isFields } from "nowcast/internal";
import { element } from "../dom.js";
import { words } from "../words.js";

/** The screen slot in which a server that shows history states the moment (`docs/how-to/stored-worlds.md`, "History"). */
export const PAST_PLACE = "@past";

/**
 * Minimum interval between two requests, because a moment takes time to load and chat lines are limited in
 * rate.
 */
const ASK_EVERY_MS = 600;
/** After the user moved the slider, the page does not move the slider for this time. */
const STILL_MS = 1500;
/** While history is played, the server sends the moment at least at this interval. */
const HEARD_EVERY_MS = 1000;

/** The shown moment of the past. Times are milliseconds since 1970. */
export interface PastState {
  readonly room: string;
  /** The first and the last moment of the history. */
  readonly from: number;
  readonly to: number;
  /** The moment that is shown. */
  readonly at: number;
  readonly playing: boolean;
  /** Whether the replay is exact to the last bit. */
  readonly exact: boolean;
}

/** The server's value at {@link PAST_PLACE}; `undefined` for any other value. */
export function readPast(value: unknown): PastState | undefined {
  if (!isFields(value)) return undefined;
  const { room, from, to, at, playing, exact } = value;
  const isTime = (time: unknown): time is number => typeof time === "number" && Number.isFinite(time);
  if (typeof room !== "string" || !isTime(from) || !isTime(to) || !isTime(at)) return undefined;
  return { room, from, to: Math.max(from, to), at, playing: playing === true, exact: exact !== false };
}

/**
 * Decides when to request the newest moment that the user selected, so that requests are not too frequent.
 */
export class MomentRequests {
  #wanted: number | undefined;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  readonly #ask: (moment: number) => void;

  constructor(ask: (moment: number) => void) {
    this.#ask = ask;
  }

  /** Whether a moment was requested a short time ago, or will be requested soon. */
  isFresh(nowMs: number): boolean {
    return this.#wanted !== undefined || nowMs - this.#askedAtMs < STILL_MS;
  }

  want(moment: number, nowMs: number): void {
    this.#wanted = moment;
    this.update(nowMs);
  }

  update(nowMs: number): void {
    if (this.#wanted === undefined || nowMs - this.#askedAtMs < ASK_EVERY_MS) return;
    const moment = this.#wanted;
    this.#wanted = undefined;
    this.#askedAtMs = nowMs;
    this.#ask(moment);
  }
}

export interface PastListener {
  /** Sends a chat line to the server. */
  say(line: string): void;
  /** Called when another moment is shown. */
  moved(atMs: number): void;
  /** Returns from the past to the room itself. */
  leave(): void;
}

/** A slider over the stored history, and the commands for a moment. */
export class PastPanel {
  readonly #panel = element("past", HTMLElement);
  readonly #hud = element("hud", HTMLElement);
  readonly #time = element("past-time", HTMLElement);
  readonly #inexact = element("past-inexact", HTMLElement);
  readonly #from = element("past-from", HTMLElement);
  readonly #to = element("past-to", HTMLElement);
  readonly #slider = element("past-slider", HTMLInputElement);
  readonly #play = element("past-play", HTMLButtonElement);
  readonly #copyName = element("past-name", HTMLInputElement);
  readonly #requests: MomentRequests;
  #state: PastState | undefined;
  #heardAtMs = 0;
  readonly #listener: PastListener;

  constructor(listener: PastListener) {
    this.#listener = listener;
    this.#requests = new MomentRequests((moment) => listener.say(`/at ${new Date(moment).toISOString()}`));
    this.#slider.addEventListener("input", () => {
      this.#requests.want(Number(this.#slider.value), performance.now());
      this.#writeTime(Number(this.#slider.value));
    });
    this.#play.addEventListener("click", () =>
      listener.say(this.#state?.playing === true ? "/pause" : "/play"),
    );
    element("past-form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      listener.say(`/copy ${this.#copyName.value}`);
    });
    element("past-present", HTMLButtonElement).addEventListener("click", () => listener.leave());
  }

  /** Shows the server's value; `undefined` hides the panel. */
  update(value: unknown): void {
    const state = readPast(value);
    const isNew = this.#state === undefined;
    this.#state = state;
    this.#panel.hidden = state === undefined;
    this.#hud.classList.toggle("past", state !== undefined);
    if (state === undefined) return;
    this.#heardAtMs = performance.now();
    if (isNew) this.#copyName.value = `${state.room}-copy`.slice(-32);
    this.#slider.min = String(Math.floor(state.from));
    this.#slider.max = String(Math.ceil(state.to));
    this.#from.textContent = timeText(state.from);
    this.#to.textContent = timeText(state.to);
    this.#inexact.hidden = state.exact;
    this.#play.textContent = state.playing ? words.pastPause : words.pastPlay;
    this.#listener.moved(state.at);
    this.animate(this.#heardAtMs);
  }

  /** Moves the slider along while the past is played. */
  animate(nowMs: number): void {
    this.#requests.update(nowMs);
    if (this.#state === undefined || this.#requests.isFresh(nowMs)) return;
    const { at, playing } = this.#state;
    const shown = playing ? at + Math.min(nowMs - this.#heardAtMs, HEARD_EVERY_MS) : at;
    this.#slider.value = String(Math.round(shown));
    this.#writeTime(shown);
  }

  #writeTime(atMs: number): void {
    const text = timeText(atMs);
    if (this.#time.textContent !== text) this.#time.textContent = text;
    this.#slider.setAttribute("aria-valuetext", text);
  }
}

/** A time in local notation, with the date if that is not today. */
function timeText(atMs: number): string {
  const then = new Date(atMs);
  const isToday = then.toDateString() === new Date().toDateString();
  return isToday ? then.toLocaleTimeString() : then.toLocaleString();
}
