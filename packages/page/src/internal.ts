/** Names for the other packages of Nowcast. They may change in every release. */

export { buttonOf } from "./actions.js";
export type { ChatElements } from "./chat/chat-panel.js";
export { copyText } from "./dom.js";
export type { Ending } from "./hud/close-reason.js";
export type { ControlsDisplay, DisplayListener } from "./hud/controls-display.js";
export { Hud, type HudElements } from "./hud/hud.js";
export { flipHelp, type IntroElements, titleOf } from "./hud/intro-card.js";
export { hasWalkers, promptedActions } from "./hud/key-hints.js";
export type { PeopleElements } from "./hud/people-list.js";
export type { ScreenElements } from "./hud/screen-texts.js";
export { onTouchButton } from "./hud/touch-buttons.js";
export { followLines, type LinesDisplay } from "./hud/world-lines.js";
export type { DeviceInUse } from "./input/devices.js";
export type { Command } from "./input/input-collector.js";
export { emoteKey, mouseKey } from "./input/keyboard.js";
export { codeName, codeOf, type Keymap, keyFor } from "./input/keymap.js";
export { peopleIn } from "./people.js";
export { Portals } from "./portals.js";
export type { VoiceElements } from "./voice/voice-toggle.js";
export { joinInBrowser, WorldStage } from "./world-stage.js";
