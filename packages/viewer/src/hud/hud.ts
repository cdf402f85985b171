import { ConnectionBanner, explainClose } from "@nowcast/page";
import { type Ending, titleOf } from "@nowcast/page/internal";
import type { World } from "nowcast/world";
import { element } from "../dom.js";
import { words } from "../words.js";

const NOTICE_MS = 8000;

export interface HudListener {
  joinAgain(): void;
  /** Leaves this room for the start page. */
  anotherRoom(): void;
}

/** All elements over the picture except the chat and the metrics. */
export class Hud {
  readonly connection = new ConnectionBanner(
    element("banner", HTMLElement),
    element("banner-other", HTMLButtonElement),
  );
  readonly #root = element("hud", HTMLElement);
  readonly #place = element("place", HTMLButtonElement);
  readonly #banner = element("banner", HTMLElement);
  readonly #notice = element("notice", HTMLElement);
  readonly #endDialog = element("ended", HTMLElement);
  readonly #charge = element("charge", HTMLElement);
  readonly #chargeFill = this.#charge.firstElementChild as HTMLElement;
  readonly #prompt = element("prompt", HTMLElement);
  readonly #people = document.createElement("small");
  readonly #room = document.createElement("span");
  #noticeTimer = 0;
  #promptText = "";

  /** `canvas` gets the keyboard focus back after a click on a button of the page. */
  constructor(canvas: HTMLElement, listener: HudListener) {
    this.#place.append(this.#room, this.#people);
    element("ended-again", HTMLButtonElement).addEventListener("click", () => listener.joinAgain());
    for (const id of ["ended-other", "banner-other"]) {
      element(id, HTMLButtonElement).addEventListener("click", () => listener.anotherRoom());
    }
    // This runs before the button's own listeners, so that a dialog that one of them opens returns the focus
    // to the canvas. A press by the keyboard (`detail` 0) does not change the focus.
    this.#root.addEventListener(
      "click",
      (event) => {
        const button = event.target instanceof Element ? event.target.closest("button") : null;
        if (button !== null && event.detail > 0) canvas.focus({ preventScroll: true });
      },
      { capture: true },
    );
  }

  show(room: string): void {
    this.#root.hidden = false;
    this.#endDialog.hidden = true;
    this.#room.textContent = titleOf(room);
    this.#place.title = words.peopleOpen;
  }

  /** Shows the world of the room, if the room's name does not contain it. */
  setWorld(about: string): void {
    this.#place.title = `${about} ${words.peopleOpen}`;
  }

  hide(): void {
    this.#root.hidden = true;
    this.#endDialog.hidden = true;
    this.#notice.hidden = true;
    this.connection.reset();
  }

  /** Shows the number of players. `isWatching` says that the local player has no body. */
  setPeople(count: number, isWatching: boolean): void {
    const who = count === 1 ? words.onlyYou : words.people(count);
    const text = isWatching ? `${who}, ${words.watching}` : who;
    if (this.#people.textContent === text) return;
    this.#people.textContent = text;
    this.#people.classList.toggle("alone", count === 1);
  }

  setStatus(status: World["status"]): void {
    this.#place.classList.toggle("open", status === "open");
    this.#place.classList.toggle("closed", status === "closed");
    if (status === "open") this.#endDialog.hidden = true;
    if (status === "connecting" || status === "closed") this.connection.show(status);
  }

  /** Shows the reason why a connection ended, and whether the end is final. */
  lost(error: Ending, retryInMs: number | undefined): void {
    if (retryInMs !== undefined) return this.connection.ended(error);
    const { cause, cure } = explainClose(error);
    this.connection.reset();
    element("ended-cause", HTMLElement).textContent = cause;
    element("ended-cure", HTMLElement).textContent = cure;
    this.#endDialog.hidden = false;
    element("ended-again", HTMLButtonElement).focus();
  }

  say(text: string): void {
    window.clearTimeout(this.#noticeTimer);
    this.#notice.textContent = text;
    this.#notice.hidden = false;
    this.#noticeTimer = window.setTimeout(() => {
      this.#notice.hidden = true;
    }, NOTICE_MS);
  }

  /** The banner and the notice as one line; empty while neither is shown. */
  get notices(): string {
    const shown = [this.#banner, this.#notice].filter((line) => !line.hidden);
    return shown.map((line) => line.textContent).join(" ");
  }

  /** Shows the charge of an action, 0 to 1; undefined hides it. */
  setCharge(share: number | undefined): void {
    this.#charge.hidden = share === undefined;
    if (share === undefined) return;
    this.#chargeFill.style.scale = `${share} 1`;
    this.#charge.setAttribute("aria-valuenow", String(Math.round(share * 100)));
  }

  setPrompt(text: string): void {
    if (text === this.#promptText) return;
    this.#promptText = text;
    this.#prompt.textContent = text;
    this.#prompt.hidden = text === "";
  }
}
