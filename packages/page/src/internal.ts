/** Names for the other packages of Nowcast. They may change in every release. */

export { buttonOf, lookPitch } from "./actions.js";
export type { ChatElements } from "./chat/chat-panel.js";
export { copyText } from "./dom.js";
export type { Ending } from "./hud/close-reason.js";
export type { HighlightElements } from "./hud/highlights.js";
export { type IntroElements, titleOf } from "./hud/intro-card.js";
export { hasWalkers, helpLines, promptedActions, touchHelpLines } from "./hud/key-hints.js";
export type { PeopleElements, PeopleListPage } from "./hud/people-list.js";
export { readTold } from "./hud/screen-text.js";
export type { ScreenElements } from "./hud/screen-texts.js";
export { onTouchButton } from "./hud/touch-buttons.js";
export { shareOutButtons } from "./input/gamepad.js";
export type { Command } from "./input/input-collector.js";
export { emoteKey, mouseKey } from "./input/keyboard.js";
export { codeName, codeOf, type Keymap, keyFor } from "./input/keymap.js";
export { peopleIn } from "./people.js";
export { PitchSender, pitchBehind } from "./pitch.js";
export { Portals } from "./portals.js";
export { Staging } from "./staging.js";
export type { Actor } from "./targets.js";
export { projectOver } from "./ui/project.js";
export { type Project, WorldUi } from "./ui/world-ui.js";
export type { VoiceElements, VoicePage } from "./voice/voice-toggle.js";
export { beginHeadset } from "./xr/begin-headset.js";
export type { HeadsetPage } from "./xr/headset.js";
