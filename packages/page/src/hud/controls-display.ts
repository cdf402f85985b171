import type { Emote } from "@nowcast/three/internal";
import type { Binding } from "nowcast/internal";
import type { ChatPanel } from "../chat/chat-panel.js";
import type { DeviceInUse } from "../input/devices.js";
import type { Command } from "../input/input-collector.js";
import type { VoiceElements } from "../voice/voice-toggle.js";
import type { Movement, NamedControls } from "./key-hints.js";
import type { PeopleList, PersonChoice } from "./people-list.js";

/** Receives the input of a display's own elements. */
export interface DisplayListener {
  /** A button of an action was pressed or released; the trigger is that of `buttonOf`. */
  press(trigger: string): void;
  release(trigger: string): void;
  jump(isDown: boolean): void;
  do(command: Command): void;
  /** Shows a gesture of the avatar to all players. */
  emote(emote: Emote): void;
  /** The controls, for sentences that name them. */
  controls(): NamedControls;
  /** Sends a line of chat, or answers it. */
  say(text: string): void;
  /** The keyboard and the thumbs return to the world, for example because a line of chat was sent. */
  done(): void;
  /** Turns the camera to the avatar of a player. */
  find(player: number): void;
  /** The colour of an avatar. */
  colorOf(avatar: number | undefined): number;
  /** The user mutes or blocks a player, or takes it back. */
  choose(player: number, choice: Readonly<PersonChoice>): void;
}

/** The display of a page with `WorldControls`. `WorldHud` is one. */
export interface ControlsDisplay {
  /** Receives presses of the display's buttons; `WorldControls` sets it. */
  listener: DisplayListener | undefined;
  /** The stick under the thumb. */
  readonly stick: HTMLElement;
  readonly knob: HTMLElement;
  readonly voice: VoiceElements;
  /** A checkbox by which the user looks around by moving the device. */
  readonly gyroscope: HTMLInputElement;
  /** The list of people, whose choices also apply to voices. */
  readonly peopleList: Pick<PeopleList, "choices" | "isBlocked">;
  readonly chat: Pick<ChatPanel, "latest" | "addEvent">;
  /** The line that is shown for some seconds; empty for none. */
  readonly notice: string;
  /** The effects of the movement controls in the world. */
  readonly movement: Movement;
  /** Carries out a command of the page, such as `chat`. */
  run(command: Command): void;
  /** Shows a line for some seconds. */
  say(text: string): void;
  /** Sets the world's actions, for the list of controls and for the buttons to touch. */
  setActions(bindings: readonly Binding[]): void;
  /** Shows the actions that have a target now, and those that are possible without one. */
  setPrompts(offers: readonly Binding[], others: readonly Binding[]): void;
  /** Shows the charge of an action, 0 to 1; `undefined` hides it. */
  setCharge(share: number | undefined): void;
  /** Called when the user switches devices. All texts then name that device's controls. */
  setDevice(device: DeviceInUse): void;
}
