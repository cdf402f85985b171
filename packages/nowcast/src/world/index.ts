/** Shared worlds: joining a world, its contents, and the poses to draw in a frame. */

export { browserIdentity, type Identity } from "../identity/identity.js";
export { findRoom, privateRoom } from "./find-room.js";
export { joinWorld } from "./join.js";
export { tabSeat } from "./tab-seat.js";
export type { EntityOf, WorldOf, WorldTypes } from "./typed-world.js";
export type {
  Action,
  AvatarMotion,
  Connection,
  Definition,
  Display,
  Entity,
  EntityId,
  Input,
  JoinOptions,
  Kind,
  OwnedPose,
  Player,
  PlayerId,
  Pose,
  Quaternion,
  SpawnOptions,
  Vec3,
  World,
  WorldEvents,
  WorldStats,
  WorldStatus,
} from "./world.js";
