/** Page parts for Nowcast worlds: begin with `WorldPage`, or with `<nowcast-world>`. */

export { OrbitCamera } from "./camera.js";
export { ChatPanel } from "./chat/chat-panel.js";
export { explainClose } from "./hud/close-reason.js";
export { ConnectionBanner } from "./hud/connection-banner.js";
export { EmoteMenu } from "./hud/emote-menu.js";
export { Highlights } from "./hud/highlights.js";
export { IntroCard } from "./hud/intro-card.js";
export { KeyBar, keyHints, promptFor } from "./hud/key-hints.js";
export { PeopleList } from "./hud/people-list.js";
export { ScreenTexts } from "./hud/screen-texts.js";
export { TouchButtons } from "./hud/touch-buttons.js";
export { WorldHud } from "./hud/world-hud.js";
export { isMovable, moveKey, readKeymap } from "./input/keymap.js";
export { Sounds } from "./sounds.js";
export { pageTexts } from "./texts.js";
export { WorldControls, type WorldControlsOptions } from "./world-controls.js";
export { WorldPage, type WorldPageOptions } from "./world-page.js";
