import {
  type Actions,
  type ChatPanel,
  type Devices,
  type EmoteMenu,
  InputCollector,
  type IntroCard,
  type KeyBar,
} from "@nowcast/page";
import { type Command, helpLines, touchHelpLines } from "@nowcast/page/internal";
import type { WorldView } from "@nowcast/three";
import type { Figures } from "./hud/figures.js";
import type { RulesConsole } from "./hud/rules-console.js";

/** The parts of the page that keys and chat lines control. */
export interface CommandParts {
  readonly view: WorldView | undefined;
  readonly devices: Devices;
  readonly chat: ChatPanel;
  readonly figures: Figures;
  readonly console: RulesConsole;
  readonly keyBar: KeyBar;
  readonly intro: IntroCard;
  readonly emotes: EmoteMenu;
  readonly actions: Actions;
}

/** Connects the input devices with the commands and the actions of the page. */
export function createInputs(page: CommandParts): InputCollector {
  return new InputCollector({
    command: (command) => runCommand(page, command),
    press: (trigger, waits) => page.actions.press(trigger, waits),
    stroke: (trigger) => page.actions.stroke(trigger),
    release: (trigger) => page.actions.release(trigger),
    cancel: () => page.actions.cancel(),
  });
}

/** Runs the command of a key. On the start screen, commands have no effect. */
function runCommand(page: CommandParts, command: Command): void {
  if (!page.view) return;
  switch (command) {
    case "chat":
      page.devices.release();
      return page.chat.open();
    case "hud":
      return page.figures.flip();
    case "console":
      return page.console.flip();
    case "help":
      return flipHelp(page);
    case "emotes":
      return page.emotes.flip();
    case "escape":
      return page.actions.cancel();
  }
}

/** Shows the keys and the card with the goal of the world, or hides both. */
export function flipHelp({ keyBar, intro }: Pick<CommandParts, "keyBar" | "intro">): void {
  const isShown = !intro.isVisible;
  if (isShown) intro.show();
  else intro.hide();
  // A world without a description has only keys.
  if (isShown && !intro.isVisible) keyBar.flip();
  else keyBar.set(isShown);
}

/**
 * Sends a line of chat. The page answers `/help` with its keys, and the server with the commands of the world that this
 * player may give. A world without commands would send the line to all players, so the page keeps it.
 */
export function sayLine(page: CommandParts, text: string): void {
  const { view, keyBar, chat, devices, actions } = page;
  const isHelp = /^\/help\b/i.test(text);
  if (isHelp && /^\/help\s*$/i.test(text)) {
    const lines = devices.touching ? touchHelpLines(actions.bindings) : helpLines(keyBar.hints);
    for (const line of lines) chat.addEvent(line);
  }
  if (!isHelp || actions.commands.length > 0) view?.world.chat(text);
}
