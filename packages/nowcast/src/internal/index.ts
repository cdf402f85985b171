/** Names for Nowcast's other packages. They may change in every release. */

export type { CarrierKind } from "../carrier/carrier.js";
export { EmulatedLink, QUEUE_BYTES_MAX } from "../impair/emulated-link.js";
export type { LinkPreset, PathConditions } from "../impair/presets.js";
export { createRandom } from "../impair/random.js";
export type { QueueEntry } from "../queue/updatable-queue.js";
export {
  type ActionSource,
  type Binding,
  type ChatCommand,
  type PlaceRule,
  readBindings,
  readChatCommands,
  type TargetRule,
} from "../world/describe/binding.js";
export { bodyOf } from "../world/describe/body.js";
export { isLookField, type Look, lookOf, type ModelLook, readColor } from "../world/describe/look.js";
export { ownerRulesOf } from "../world/describe/owner.js";
export { ARRIVE_ACTION, PORTAL_EVENT, type Portal, readPortal } from "../world/describe/portal.js";
export {
  clamped,
  type Form,
  isFields,
  type Part,
  readVector,
  type Vector,
  within,
} from "../world/describe/shape.js";
export { walkerOf } from "../world/describe/walker.js";
export { type WorldListing, worldsOf } from "../world/worlds.js";
