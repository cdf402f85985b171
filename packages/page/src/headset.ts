/** Parts for players with a headset: hands, presence, reach, teleport, a panel on the wrist. */

export { Grasp, type GraspSurroundings, type HandMotion } from "./xr/grasp.js";
export { Headset, type HeadsetComfort, type HeadsetPage } from "./xr/headset.js";
export { type PartState, Presence, type PresenceWorld } from "./xr/presence.js";
export { findHandTarget, metresTo, type Reaching } from "./xr/reach.js";
export { type RoomHead, RoomScale } from "./xr/room-scale.js";
export { Dash, type Landing, TeleportArc, traceArc } from "./xr/teleport.js";
export { type HandInput, type Side, TrackedInput } from "./xr/tracked-input.js";
export { Vignette } from "./xr/vignette.js";
export { type PanelContents, type PanelLine, panelLines, WristPanel } from "./xr/wrist-panel.js";
