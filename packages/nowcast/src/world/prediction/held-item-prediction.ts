import { type Binding, bindingOf } from "../describe/binding.js";
import { bodyOf } from "../describe/body.js";
import { Blend, type PoseBuffer, type PoseLayer } from "../poses/layer.js";
import type { Entity, EntityId, World, WorldRecord } from "../world.js";
import type { Gait } from "./mover.js";
import { Contact, type Solid } from "./solid.js";
import type { StepClock } from "./step-clock.js";

/**
 * Time in which an item glides into the hands; then the time in which it glides from its predicted pose to the
 * server's.
 */
const RISE_S = 0.1;
const FALL_S = 0.3;
/** A prediction is taken back if the server has not confirmed it within a round trip plus this time. */
const PATIENCE_MS = 1_000;
/** Distance from the body to a held item, and its height above the middle of the body, in metres. */
const HAND_M = 0.2;
const HAND_RISE_M = 0.1;
/** Width of a body whose size is unknown, in metres. */
const EDGE_M = 0.5;
/** Maximum number of items that are predicted at a time. */
const PREDICTED_ITEMS_MAX = 4;

/** The acting avatar, as shown. */
export interface Actor {
  readonly position: ArrayLike<number>;
  readonly velocity: ArrayLike<number>;
  readonly yaw: number;
  readonly gait: Gait;
}

/** The time of a frame, and the time since the frame before it. */
type FrameTime = Pick<StepClock, "frameMs" | "frameS">;

interface PredictedItem {
  readonly id: EntityId;
  readonly action: string;
  readonly isThrown: boolean;
  readonly beganMs: number;
  readonly place: Float64Array;
  readonly velocity: Float64Array;
  /** Half the item's shortest edge, in metres: the minimum distance from obstacles. */
  readonly radius: number;
  /** The weight of the predicted pose in the shown pose. */
  readonly blend: Blend;
  /** Whether the server has confirmed that the item is held. */
  wasHeld: boolean;
  /**
   * Whether the server has carried out or refused the action. From then on the server's state is
   * shown.
   */
  isOver: boolean;
}

/**
 * Shows the effect when the player grabs or throws an item at once, if the world declares it
 * (`predict` in `docs/how-to/pages.md`). A grabbed item moves into the hands, and a thrown item flies.
 * When the server acknowledges, refuses, or does not act in time, the shown pose glides to the
 * server's.
 */
export class HeldItemPrediction implements PoseLayer {
  /** The way from the interpolated avatar to the shown one: an item in its hands moves with it. */
  readonly shift = new Float64Array(3);
  readonly #predicted: PredictedItem[] = [];
  readonly #contact = new Contact();
  /** The last shown position of the held item. */
  readonly #held = new Float64Array(3);
  /** The item that was in the hands in the last frame, according to the server. */
  #lastAcknowledged: EntityId | undefined;
  readonly #release: () => void;
  readonly #world: World;
  /** The time of the last frame. */
  #frameMs = 0;

  constructor(world: World) {
    this.#world = world;
    this.#release = world.on("refused", ({ action, request }) => {
      if (request !== undefined) return;
      for (const item of this.#predicted) if (item.action === action) item.isOver = true;
    });
  }

  /** Ends the prediction for an avatar. */
  end(): void {
    this.shift.fill(0);
    this.#predicted.length = 0;
  }

  close(): void {
    this.#release();
    this.end();
  }

  /** The item in the hands, as shown. */
  get holding(): EntityId | undefined {
    const acknowledged = this.#acknowledgedHolding;
    for (let at = this.#predicted.length - 1; at >= 0; at--) {
      const { id, isThrown, isOver } = this.#predicted[at]!;
      if (isOver) continue;
      return isThrown ? undefined : id;
    }
    return acknowledged;
  }

  /** Shows the predicted effect of an action that was sent, if the world declares one. */
  act(name: string, args: WorldRecord, actor: Actor, nowMs: number): void {
    this.#frameMs = nowMs;
    const action = this.#world.definition?.actions.find((declared) => declared.name === name);
    const binding = action && bindingOf(action);
    if (binding?.predict === "grab") this.#grab(binding, args);
    else if (binding?.predict === "throw") this.#throw(binding, args, actor);
  }

  /** Whether an action's effect is shown that the server may not have answered yet. */
  get isPredicting(): boolean {
    return this.#predicted.length > 0;
  }

  /** Reads the item that the avatar holds according to the server. Call it once a frame. */
  acknowledge(): void {
    this.#lastAcknowledged = this.#acknowledgedHolding;
  }

  /** Advances by one frame. `solids` are the surrounding bodies, of which the first `count` are valid. */
  advance(frame: FrameTime, actor: Actor, solids: readonly Solid[], count: number): void {
    const acknowledged = this.#lastAcknowledged;
    for (let at = this.#predicted.length - 1; at >= 0; at--) {
      const item = this.#predicted[at]!;
      const { id, isThrown, beganMs } = item;
      item.wasHeld ||= acknowledged === id;
      const isDone = item.wasHeld && (acknowledged === id) !== isThrown;
      const isLate = frame.frameMs - beganMs > PATIENCE_MS + (this.#world.stats.pingMs ?? 0);
      item.isOver ||= isDone || isLate || !this.#world.entities.has(id);
      item.blend.advance(!item.isOver, frame);
      if (item.isOver && item.blend.weight === 0) this.#predicted.splice(at, 1);
      else if (isThrown) this.#fly(item, frame.frameS, actor.gait.gravity, solids, count);
      else this.#hold(item, actor);
    }
  }

  /** Moves a held item with the avatar, and a grabbed or thrown one toward its predicted position. */
  place(id: EntityId, { position }: PoseBuffer): boolean {
    const isHeld = id === this.#lastAcknowledged;
    if (this.#predicted.length === 0 && !isHeld) return false;
    let isPredicted = isHeld;
    // An attached item is at its place on the shown avatar already.
    if (isHeld && this.#world.entities.get(id)?.parent === undefined)
      for (let axis = 0; axis < 3; axis++) position[axis] = position[axis]! + this.shift[axis]!;
    for (const { id: itemId, place, blend } of this.#predicted) {
      if (itemId !== id) continue;
      blend.move(position, place);
      isPredicted = true;
    }
    if (isHeld || id === this.holding) {
      for (let axis = 0; axis < 3; axis++) this.#held[axis] = position[axis]!;
    }
    return isPredicted;
  }

  get #acknowledgedHolding(): EntityId | undefined {
    const { avatarId, entities } = this.#world;
    const held = avatarId === undefined ? undefined : entities.get(avatarId)?.attributes["holding"];
    return typeof held === "number" ? (held as EntityId) : undefined;
  }

  #grab(binding: Binding, args: WorldRecord): void {
    const id = binding.target && args[binding.target.argument];
    if (typeof id !== "number" || this.holding !== undefined) return;
    this.#begin(id as EntityId, binding.action, false);
  }

  #throw(binding: Binding, args: WorldRecord, actor: Actor): void {
    const id = this.holding;
    if (id === undefined) return;
    const thrown = this.#begin(id, binding.action, true);
    if (thrown === undefined) return;
    const power = numberOf(binding.charge && args[binding.charge.argument], 1);
    const pitch = numberOf(binding.pitch && args[binding.pitch.argument], 0);
    const speed = binding.speed * power;
    const level = speed * Math.cos(pitch);
    thrown.place.set(this.#held);
    const velocity = [-level * Math.sin(actor.yaw), speed * Math.sin(pitch), -level * Math.cos(actor.yaw)];
    for (let axis = 0; axis < 3; axis++) thrown.velocity[axis] = actor.velocity[axis]! + velocity[axis]!;
  }

  #begin(id: EntityId, action: string, isThrown: boolean): PredictedItem | undefined {
    const entity = this.#world.entities.get(id);
    if (entity === undefined) return undefined;
    const item: PredictedItem = {
      id,
      action,
      isThrown,
      beganMs: this.#frameMs,
      place: Float64Array.from(entity.position),
      velocity: new Float64Array(3),
      radius: Math.min(...halfEdges(entity)),
      blend: new Blend(RISE_S, FALL_S),
      wasHeld: false,
      isOver: false,
    };
    if (isThrown) item.blend.weight = 1;
    if (this.#predicted.length >= PREDICTED_ITEMS_MAX) this.#predicted.shift();
    this.#predicted.push(item);
    return item;
  }

  /** Computes the place in front of the chest. */
  #hold({ id, place }: PredictedItem, { position, yaw, gait }: Actor): void {
    const entity = this.#world.entities.get(id);
    if (entity === undefined) return;
    const [x, , z] = halfEdges(entity);
    const away = gait.radius + HAND_M + Math.max(x, z);
    place[0] = position[0]! - Math.sin(yaw) * away;
    place[1] = position[1]! + HAND_RISE_M;
    place[2] = position[2]! - Math.cos(yaw) * away;
  }

  /**
   * Moves a thrown item until it hits a body. It stops there, because only the server knows the
   * result of the collision.
   */
  #fly(
    { place, velocity, radius }: PredictedItem,
    frameS: number,
    gravity: number,
    solids: readonly Solid[],
    count: number,
  ): void {
    const middle = { px: place[0]!, py: place[1]!, pz: place[2]! };
    const size = { radius, height: 2 * radius };
    for (let at = 0; at < count; at++) {
      this.#contact.measure(solids[at]!, middle, size);
      if (this.#contact.gap > 0) continue;
      velocity.fill(0);
      return;
    }
    velocity[1]! -= gravity * frameS;
    for (let axis = 0; axis < 3; axis++) place[axis]! += velocity[axis]! * frameS;
  }
}

/** A body's half extents along its own axes, in metres; 0.25 m if unknown. */
function halfEdges({ kind, scale }: Entity): readonly [number, number, number] {
  const form = bodyOf(kind)?.form;
  const width = form !== undefined && "radius" in form ? 2 * form.radius : EDGE_M;
  const [x, y, z] = form?.shape === "box" ? form.size : [width, width, width];
  return [(x * scale[0]) / 2, (y * scale[1]) / 2, (z * scale[2]) / 2];
}

function numberOf(value: unknown, fallback: number): number {
  return typeof value === "number" && Number.isFinite(value) ? value : fallback;
}
