import { explainClose } from "@nowcast/page";
import { type Command, type DeviceInUse, type Ending, Hud, titleOf } from "@nowcast/page/internal";
import type { World } from "nowcast/world";
import { element } from "../dom.js";
import { hudElements } from "../page-elements.js";
import { words } from "../words.js";
import { Figures } from "./figures.js";
import { PAST_PLACE, type PastListener, PastPanel } from "./past-panel.js";
import { RulesConsole } from "./rules-console.js";

/** Reports that arrive within this time after the welcome are about earlier versions. */
const GREETING_MS = 1500;

export interface PageHudListener extends Omit<PastListener, "say"> {
  joinAgain(): void;
  /** Leaves this room for the start page. */
  anotherRoom(): void;
  /** The user hides or shows the bar of keys, or the network figures. */
  change(changes: { readonly keys?: boolean; readonly hud?: boolean }): void;
  /** Another server, with another ground, may answer from now on. */
  welcomed(room: string, world: string): void;
}

/** All texts over the picture of this page. */
export class PageHud extends Hud {
  readonly figures: Figures;
  readonly console = new RulesConsole(() => this.say(words.rulesFault));
  readonly past: PastPanel;
  readonly #root = element("hud", HTMLElement);
  readonly #place = element("place", HTMLButtonElement);
  readonly #endDialog = element("ended", HTMLElement);
  readonly #canvas: HTMLElement;
  readonly #listener: PageHudListener;
  #welcomedAtMs = 0;

  /** `canvas` gets the keyboard focus back after a click on a button of the page. */
  constructor(canvas: HTMLElement, listener: PageHudListener) {
    super(hudElements(), (keys) => listener.change({ keys }));
    this.#canvas = canvas;
    this.#listener = listener;
    this.figures = new Figures((hud) => listener.change({ hud }));
    this.past = new PastPanel({
      say: (line) => this.world?.chat(line),
      moved: (atMs) => listener.moved(atMs),
      leave: () => listener.leave(),
    });
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

  /** Shows the texts of a room, whose shared address is given. */
  show(room: string, shareAddress: string): void {
    this.#root.hidden = false;
    this.#endDialog.hidden = true;
    element("place-room", HTMLElement).textContent = titleOf(room);
    this.#place.title = words.peopleOpen;
    this.peopleList.enter(shareAddress);
  }

  /** Shows the world of the room, if the room's name does not contain it. */
  setWorld(about: string): void {
    this.#place.title = `${about} ${words.peopleOpen}`;
  }

  hide(): void {
    this.#root.hidden = true;
    this.#endDialog.hidden = true;
    this.say("");
    this.chat.clear();
    this.intro.hide();
    this.emotes.close();
    this.peopleList.close();
    this.connection.reset();
  }

  override follow(world: World, signal: AbortSignal): void {
    super.follow(world, signal);
    const on: World["on"] = (type, listener) => world.on(type, listener, { signal });
    on("welcome", (welcome) => {
      this.#welcomedAtMs = performance.now();
      this.clear();
      this.console.clear();
      this.#listener.welcomed(welcome.room, welcome.world);
    });
    on("screen", ({ place }) => {
      if (place === PAST_PLACE) this.past.update(world.screen.get(place));
    });
    on("report", (report) => this.console.add(report, performance.now() - this.#welcomedAtMs > GREETING_MS));
    on("snapshot", ({ receivedAtMs }) =>
      this.figures.graph.record(receivedAtMs, world.display.delayMs, world.stats.bytesPerSecond),
    );
  }

  override clear(): void {
    super.clear();
    this.past.update(undefined);
  }

  override run(command: Command): void {
    if (command === "hud") this.figures.flip();
    else if (command === "console") this.console.flip();
    else super.run(command);
  }

  override setDevice(device: DeviceInUse): void {
    super.setDevice(device);
    this.#canvas.setAttribute("aria-label", device === "touch" ? words.canvasTouch : words.canvas);
  }

  /** Updates the texts that change with time. Called in each frame. */
  animate(frameMs: number, world: World): void {
    this.connection.update(world.status, world.connection);
    this.past.animate(performance.now());
    this.figures.update(frameMs, world);
  }

  protected override showStatus(world: World): void {
    super.showStatus(world);
    const { status } = world;
    if (status !== "open") this.figures.graph.pause();
    this.#place.classList.toggle("open", status === "open");
    this.#place.classList.toggle("closed", status === "closed");
    if (status === "open") this.#endDialog.hidden = true;
  }

  protected override ended(error: Ending): void {
    const { cause, cure } = explainClose(error);
    this.connection.reset();
    element("ended-cause", HTMLElement).textContent = cause;
    element("ended-cure", HTMLElement).textContent = cure;
    this.#endDialog.hidden = false;
    element("ended-again", HTMLButtonElement).focus();
  }
}
