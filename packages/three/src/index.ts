/** Shared worlds as objects of three.js: begin with {@link WorldView}. */

export { ease, wrapAngle } from "./angle.js";
export { AssetCache } from "./asset-cache.js";
export { type AssetEntry, AssetError, Assets } from "./assets.js";
export {
  type Appearance,
  type Body,
  describeBody,
  type EntityFacts,
  type Figure,
  type Gait,
  isShown,
  type KindFacts,
  type ModelLook,
  readColor,
} from "./look/body.js";
export { type Form, isFields, type Part, readForm, readVector, type Vector } from "./look/form.js";
export { type Frame, startLoop } from "./loop.js";
export { MODEL_LIMITS } from "./models/inspect-glb.js";
export type { Crowd, Member } from "./people/crowd.js";
export { copyPose, createPose, isSamePose, type Pose, yawOf } from "./pose.js";
export { type Cast, castAt, Obstacles } from "./scene/obstacles.js";
export { createProp, type Probe, type Prop } from "./scene/prop.js";
export { type RayBox, rayBoxDistance } from "./scene/ray.js";
export { type Daylight, type ShadowDetail, Sun } from "./sun.js";
export { type Detail, type PoseSource, WorldScene, type WorldSceneOptions } from "./world-scene.js";
export { WorldView, type WorldViewOptions } from "./world-view.js";
