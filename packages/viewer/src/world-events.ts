import type { Highlights, PeopleList, ScreenTexts } from "@nowcast/page";
import { followLines, peopleIn } from "@nowcast/page/internal";
import type { World } from "nowcast/world";
import type { Figures } from "./hud/figures.js";
import type { Hud } from "./hud/hud.js";
import { PAST_PLACE, type PastPanel } from "./hud/past-panel.js";
import type { RulesConsole } from "./hud/rules-console.js";
import type { PageDisplay } from "./page-display.js";

/** Reports that arrive within this time after the welcome are about earlier versions. */
const GREETING_MS = 1500;

/** The parts of the page that show events of the world. */
export interface EventParts {
  readonly peopleList: PeopleList;
  readonly highlights: Highlights;
  readonly hud: Hud;
  readonly display: PageDisplay;
  readonly figures: Figures;
  readonly console: RulesConsole;
  readonly screens: ScreenTexts;
  readonly past: PastPanel;
  /** Starts again in a room, because another server, with another ground, may answer. */
  restart(room: string, world: string): void;
}

/** Removes all that the page shows of a world. */
export function clearWorld(page: EventParts): void {
  page.peopleList.clear();
  page.highlights.clear();
  page.screens.invalidate();
  page.past.update(undefined);
}

/** Passes the events of a world to the parts of the page. */
export class WorldEvents {
  readonly #page: EventParts;
  #welcomedAtMs = 0;

  constructor(page: EventParts) {
    this.#page = page;
  }

  /** Follows a world until the signal. */
  follow(world: World, signal: AbortSignal): void {
    const { hud, figures, console, display } = this.#page;
    const on: World["on"] = (type, listener) => world.on(type, listener, { signal });
    on("status", ({ status }) => {
      hud.setStatus(status);
      if (status !== "open") figures.graph.pause();
    });
    on("welcome", (welcome) => {
      this.#welcomedAtMs = performance.now();
      this.#page.restart(welcome.room, welcome.world);
    });
    for (const type of ["joined", "renamed", "avatar", "left"] as const) {
      on(type, () => this.#countPeople(world));
    }
    on("screen", ({ place }) => this.#show(place, world.screen.get(place)));
    on("report", (report) => console.add(report, performance.now() - this.#welcomedAtMs > GREETING_MS));
    on("snapshot", ({ receivedAtMs }) =>
      figures.graph.record(receivedAtMs, world.display.delayMs, world.stats.bytesPerSecond),
    );
    on("error", ({ error, retryInMs }) => hud.lost(error, retryInMs));
    followLines(world, display, signal);
  }

  #show(place: string, value: unknown): void {
    const { screens, past } = this.#page;
    screens.invalidate();
    if (place === PAST_PLACE) past.update(value);
  }

  #countPeople(world: World): void {
    const { hud, peopleList } = this.#page;
    hud.setPeople(peopleIn(world).length, world.avatarId === undefined);
    peopleList.update();
  }
}
