/** Names for the other packages of Nowcast. They may change in every release. */

export { buttonOf } from "./actions.js";
export { copyText, isConverting } from "./dom.js";
export type { Ending } from "./hud/close-reason.js";
export { Hud, type HudElements } from "./hud/hud.js";
export { titleOf } from "./hud/intro-card.js";
export type { DeviceInUse } from "./input/devices.js";
export type { Command } from "./input/input-collector.js";
export { emoteKey, mouseKey } from "./input/keyboard.js";
export { codeName, codeOf, type Keymap, keyFor } from "./input/keymap.js";
export { Portals } from "./portals.js";
export { joinInBrowser, WorldStage } from "./world-stage.js";
