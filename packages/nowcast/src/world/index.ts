/** Shared worlds: joining a world, its contents, and the poses to draw in a frame. */

export { browserIdentity, type Identity, type IdentityProof } from "../identity/identity.js";
export {
  type ActionSource,
  type Amount,
  type Binding,
  bindingOf,
  type ChatCommand,
  type PlaceRule,
  readBindings,
  readChatCommands,
  type TargetRule,
} from "./describe/binding.js";
export { type Body, type BodyMotion, type BodyRole, bodyOf } from "./describe/body.js";
export {
  type Figure,
  isLookField,
  type Look,
  type LookSource,
  lookOf,
  type ModelLook,
  readColor,
} from "./describe/look.js";
export { type OwnerRules, ownerRulesOf } from "./describe/owner.js";
export { ARRIVE_ACTION, PORTAL_EVENT, type Portal, readPortal } from "./describe/portal.js";
export {
  clamped,
  type Form,
  isFields,
  type Part,
  readForm,
  readVector,
  type Vector,
  within,
} from "./describe/shape.js";
export { type Walker, walkerOf } from "./describe/walker.js";
export { findRoom, isPrivateRoom, privateRoom } from "./find-room.js";
export {
  angleBetween,
  eulerToQuaternion,
  type NumberArray,
  quaternionToEuler,
} from "./interpolation/rotation.js";
export { joinWorld } from "./join.js";
export { type Seat, type SeatClaim, tabSeat } from "./tab-seat.js";
export type { EntityOf, WorldOf, WorldTypes } from "./typed-world.js";
export type {
  Action,
  Asset,
  AvatarMotion,
  AvatarMotions,
  Connection,
  Definition,
  DespawnReason,
  Display,
  Entity,
  EntityId,
  EntityListener,
  EntityPart,
  EntityPath,
  EventDeclaration,
  Field,
  Input,
  JoinOptions,
  Kind,
  OwnedPose,
  Player,
  PlayerId,
  Pose,
  Prediction,
  Quaternion,
  ReportOutcome,
  RoomQuery,
  SpawnOptions,
  Vec3,
  World,
  WorldEvents,
  WorldLink,
  WorldRecord,
  WorldStats,
  WorldStatus,
} from "./world.js";
export { listRooms, type RoomListing, type WorldListing, worldsOf } from "./worlds.js";
