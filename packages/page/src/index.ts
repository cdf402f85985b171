/** Parts of a page for a world of Nowcast: begin with `WorldPage`, or with `<nowcast-world>`. */

export {
  type ActionSource,
  Actions,
  type Amount,
  argumentsOf,
  type Binding,
  buttonOf,
  cameraPitch,
  lookPitch,
  readBindings,
  type Surroundings,
  type Target,
  type TargetRule,
} from "./actions.js";
export { type AimParts, createAimedActions } from "./aimed-actions.js";
export { armDirection, nextDistance, OrbitCamera, type Placed } from "./camera.js";
export { CAMERA_PLACE, type CameraRules, readCamera, readShake, type Shake } from "./camera-rules.js";
export { type ChatElements, ChatPanel, readableColor } from "./chat/chat-panel.js";
export { copyText, cssColor } from "./dom.js";
export { type CloseReason, type Ending, explainClose, isRefusal } from "./hud/close-reason.js";
export { ConnectionBanner, type Reach, reachOf } from "./hud/connection-banner.js";
export { EmoteMenu } from "./hud/emote-menu.js";
export { type HighlightElements, Highlights } from "./hud/highlights.js";
export { IntroCard, type IntroElements, titleOf } from "./hud/intro-card.js";
export {
  helpLines,
  KeyBar,
  type KeyedAction,
  type KeyHint,
  keyedActions,
  keyHints,
  keyName,
  lookHints,
  promptedActions,
  promptFor,
  touchHelpLines,
} from "./hud/key-hints.js";
export {
  type PeopleElements,
  PeopleList,
  type PeopleListPage,
  type PersonChoice,
} from "./hud/people-list.js";
export { clockText, readTold, type ScoreSide, sidesOf, textOf, wordOf } from "./hud/screen-text.js";
export { type ScreenElements, ScreenTexts } from "./hud/screen-texts.js";
export { fillStep, type NamedControls } from "./hud/step-text.js";
export {
  onTouchButton,
  type TouchButton,
  type TouchButtonListener,
  TouchButtons,
} from "./hud/touch-buttons.js";
export { type HudListener, WorldHud } from "./hud/world-hud.js";
export { Devices } from "./input/devices.js";
export { GamepadInput, shareOutButtons } from "./input/gamepad.js";
export {
  type Command,
  type Input,
  InputCollector,
  type InputListener,
  type MovementInput,
} from "./input/input-collector.js";
export { emoteKey, Keyboard, mouseKey } from "./input/keyboard.js";
export { codeName, codeOf, isMovable, type Keymap, keyFor, moveKey, readKeymap } from "./input/keymap.js";
export { Mouse } from "./input/mouse.js";
export { readStick, type StickReading } from "./input/stick.js";
export { Touch } from "./input/touch.js";
export { type AvatarParts, type AvatarWorld, LocalAvatar } from "./local-avatar.js";
export { type Loop, Loops, readLoop, type Whereabouts } from "./loops.js";
export { type Happening, People, type PlayerFacts } from "./people.js";
export { PitchSender, pitchBehind } from "./pitch.js";
export { readSound, type Sound, Sounds, type Timbre, timbreOf } from "./sounds.js";
export { type Actor, type Aim, findTarget } from "./targets.js";
export { pageTexts } from "./texts.js";
export { type Anchor, isOwnPlace, type Panel, type PanelPart, readPanels } from "./ui/panels.js";
export { type Project, WorldUi } from "./ui/world-ui.js";
export { passesVoices, type VoiceElements, type VoicePage, VoiceToggle } from "./voice/voice-toggle.js";
export { WorldControls, type WorldControlsOptions } from "./world-controls.js";
export { WorldPage, type WorldPageOptions } from "./world-page.js";
