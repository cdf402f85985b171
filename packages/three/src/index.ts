/** Shared worlds as objects of three.js: begin with {@link WorldView}. */

export { ease, wrapAngle } from "./angle.js";
export { AssetCache } from "./asset-cache.js";
export { type AssetEntry, AssetError, Assets } from "./assets.js";
export { LabelSprites, wrapText } from "./label-sprites.js";
export type { Writing } from "./labels.js";
export {
  type Body,
  type DrawnEntity,
  type DrawnKind,
  describeBody,
  type Figure,
  type Gait,
  isShown,
  type Look,
  type ModelLook,
  readColor,
} from "./look/body.js";
export {
  clamped,
  type Form,
  isFields,
  type Part,
  readForm,
  readVector,
  type Vector,
  within,
} from "./look/form.js";
export { type Frame, startLoop } from "./loop.js";
export { MODEL_LIMITS } from "./models/inspect-glb.js";
export type { Crowd, Member } from "./people/crowd.js";
export { EMOTES, type Emote, emoteOf, packEmote } from "./people/emotes.js";
export {
  createOutfit,
  OUTFIT_CHOICES,
  type Outfit,
  type OutfitPart,
  packOutfit,
  readOutfit,
} from "./people/outfit.js";
export {
  encodeHandPose,
  HAND_JOINTS,
  HAND_POSE_BYTES,
  HAND_POSE_ERROR_DEG,
} from "./people/tracked/hand-pose.js";
export { curlHand, handSizeOf, PALM } from "./people/tracked/hand-shape.js";
export { Hands, type ShownHand } from "./people/tracked/hands.js";
export { type TrackedKind, type TrackedPart, trackedPartOf } from "./people/tracked/tracked-kinds.js";
export { type ShownPart, TRACKED_S_MAX, type Tracking } from "./people/tracked/tracking.js";
export { copyPose, createPose, isSamePose, type Pose, yawOf } from "./pose.js";
export type { PoseSource } from "./pose-source.js";
export { type Burst, readBurst } from "./scene/bursts.js";
export { createGeometry } from "./scene/form-geometry.js";
export { type Cast, castAt, Obstacles } from "./scene/obstacles.js";
export { createProp, type Probe, type Prop } from "./scene/prop.js";
export { type RayBox, rayBoxDistance } from "./scene/ray.js";
export { SkyBackdrop } from "./sky/sky-backdrop.js";
export { SkyDome } from "./sky/sky-dome.js";
export { DAY, DUSK, lookAt, NIGHT, type SkyLook } from "./sky/sky-look.js";
export { readSky, SKY_PLACE, type SkyState, WorldSky } from "./sky/world-sky.js";
export { readWeather, WEATHER_PLACE, type Weather, WorldWeather } from "./sky/world-weather.js";
export { type Daylight, type ShadowDetail, Sun } from "./sun.js";
export { LIGHTS_DRAWN_MAX, type PoseOf, readLight, type WorldLight, WorldLights } from "./world-lights.js";
export { type Detail, WorldScene, type WorldSceneOptions } from "./world-scene.js";
export { WorldView, type WorldViewOptions } from "./world-view.js";
