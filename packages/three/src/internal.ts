/** Names for the other packages of Nowcast. They may change in every release. */

export { ease, wrapAngle } from "./angle.js";
export { AssetCache } from "./asset-cache.js";
export { AssetError, Assets } from "./assets.js";
export { wrapText } from "./label-sprites.js";
export { type Body, type DrawnKind, describeBody } from "./look/body.js";
export type { Frame } from "./loop.js";
export type { Member } from "./people/crowd.js";
export { EMOTES, type Emote, packEmote } from "./people/emotes.js";
export { OUTFIT_CHOICES, type OutfitPart, packOutfit, readOutfit } from "./people/outfit.js";
export { encodeHandPose, HAND_JOINTS, HAND_POSE_BYTES } from "./people/tracked/hand-pose.js";
export { curlHand, handSizeOf, PALM } from "./people/tracked/hand-shape.js";
export { Hands } from "./people/tracked/hands.js";
export { type TrackedPart, trackedPartOf } from "./people/tracked/tracked-kinds.js";
export { createPose, type Pose, type PoseSource, yawOf } from "./pose.js";
export { readBurst } from "./scene/bursts.js";
export { createGeometry } from "./scene/form-geometry.js";
export { castAt, Obstacles } from "./scene/obstacles.js";
export type { Prop } from "./scene/prop.js";
export { type RayBox, rayBoxDistance } from "./scene/ray.js";
export { DAY, DUSK } from "./sky/sky-look.js";
export { WEATHER_PLACE, WorldWeather } from "./sky/world-weather.js";
export { WorldLights } from "./world-lights.js";
export { type Detail, WorldScene } from "./world-scene.js";
