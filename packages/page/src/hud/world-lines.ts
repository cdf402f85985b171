import type { World } from "nowcast/world";
import type { ChatPanel } from "../chat/chat-panel.js";
import { pageTexts } from "../texts.js";
import type { Highlights } from "./highlights.js";
import type { PeopleList } from "./people-list.js";
import { readTold } from "./screen-text.js";

/** Players that appear within this time after the welcome count as having been in the room before. */
const GREETING_MS = 1500;

/** The display of a world's lines. */
export interface LinesDisplay {
  readonly chat: ChatPanel;
  readonly highlights: Highlights;
  readonly peopleList: Pick<PeopleList, "isBlocked">;
  /** Shows a line for some seconds. */
  say(text: string): void;
  /** Shows for some seconds why an action was refused. */
  refuse(text: string): void;
  /** The label of an action. */
  labelOf(action: string): string;
  /** The colour of the avatar with this identifier. */
  colorOf(avatar: number | undefined): number;
}

/** Shows the events of a world that are texts: chat, people who come and go, refusals and notices. Ends with `signal`. */
export function followLines(world: World, display: LinesDisplay, signal: AbortSignal): void {
  const { chat, highlights, peopleList } = display;
  const on: World["on"] = (type, listener) => world.on(type, listener, { signal });
  let settledMs = performance.now() + GREETING_MS;
  on("welcome", () => {
    settledMs = performance.now() + GREETING_MS;
  });
  on("joined", ({ player: { id, name, isProgram } }) => {
    const isNews = performance.now() > settledMs && id !== world.playerId;
    if (!isProgram && isNews) chat.addEvent(pageTexts.isHere(name));
  });
  on("renamed", ({ player: { name, isProgram }, before }) => {
    if (!isProgram) chat.addEvent(pageTexts.isNow(before, name));
  });
  on("left", ({ player: { id, name, isProgram } }) => {
    const isNews = world.status === "open" && id !== world.playerId;
    if (!isProgram && isNews) chat.addEvent(pageTexts.hasLeft(name));
  });
  on("chat", ({ from, name, text }) => {
    if (peopleList.isBlocked(from)) return;
    chat.add(name, display.colorOf(world.players.get(from)?.avatarId), text);
  });
  on("event", ({ name, payload }) => {
    if (highlights.handleEvent(name, payload)) return;
    const told = name === "tell" ? readTold(payload) : undefined;
    if (told !== undefined) chat.addEvent(told);
  });
  on("missed", ({ lines }) => chat.addEvent(pageTexts.linesMissed(lines)));
  on("unsaid", ({ text, reason }) => chat.addEvent(pageTexts.unsaid(text, reason)));
  on("notice", ({ text }) => display.say(text));
  on("refused", ({ action, reason, request }) => {
    if (request === undefined) display.refuse(pageTexts.refused(display.labelOf(action), reason));
  });
}
