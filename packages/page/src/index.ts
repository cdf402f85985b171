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
export { armDirection, nextDistance, OrbitCamera, type Placed } from "./camera.js";
export { CAMERA_PLACE, type CameraRules, readCamera, readShake, type Shake } from "./camera-rules.js";
export { clockText, readTold, type ScoreSide, sidesOf, textOf, wordOf } from "./hud/screen-text.js";
export { type HudListener, WorldHud } from "./hud/world-hud.js";
export { GamepadInput, shareOutButtons } from "./input/gamepad.js";
export {
  type Command,
  type Input,
  InputCollector,
  type InputListener,
  type MovementInput,
} from "./input/input-collector.js";
export { emoteKey, Keyboard, mouseKey } from "./input/keyboard.js";
export { Mouse } from "./input/mouse.js";
export { readStick, type StickReading } from "./input/stick.js";
export { Touch } from "./input/touch.js";
export { type Loop, Loops, readLoop, type Whereabouts } from "./loops.js";
export { type Happening, People, type PlayerFacts } from "./people.js";
export { PitchSender, pitchBehind } from "./pitch.js";
export { readSound, type Sound, Sounds, type Timbre, timbreOf } from "./sounds.js";
export { type Actor, type Aim, findTarget } from "./targets.js";
export { pageTexts } from "./texts.js";
export { type Anchor, isOwnPlace, type Panel, type PanelPart, readPanels } from "./ui/panels.js";
export { type Project, WorldUi } from "./ui/world-ui.js";
export { WorldControls, type WorldControlsOptions } from "./world-controls.js";
export { WorldPage, type WorldPageOptions } from "./world-page.js";
