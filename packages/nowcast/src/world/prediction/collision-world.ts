import { bodyOf } from "../describe/body.js";
import type { Entity, EntityId, World } from "../world.js";
import { BodyMotion } from "./body-motion.js";
import { type BodyPart, bodyPartsOf, solidOf } from "./body-solids.js";
import { DEFAULT_LAYERS, type Layers, layersOf, pass } from "./layers.js";
import type { Mover } from "./mover.js";
import type { Solid } from "./solid.js";

/**
 * A dynamic body with at most this multiple of a walker's mass does not stop the walker. It still carries the walker.
 */
const GIVES_WAY_TIMES = 4;
/** Maximum solids that are checked for one walker. */
const NEAR_MAX = 64;
/** A quaternion is invalid if its squared length differs from 1 by more than this. */
const TURN_ERROR_MAX = 1e-3;
const TURN = [0, 0, 0, 1];
const PLACE = [0, 0, 0];

interface Met {
  readonly id: EntityId;
  /** The parts of its body. */
  solids: Solid[];
  parts: readonly BodyPart[];
  /** Its middle, in metres. */
  x: number;
  y: number;
  z: number;
  /** Radius of the body around its middle, in metres. */
  reach: number;
  /** The motion, for a body that rules move. */
  motion: BodyMotion | undefined;
}

/**
 * The bodies with which a walker can collide. They have their last received poses or, if the rules
 * move them, predicted poses.
 */
export class CollisionWorld {
  /** The solids, of which the first `count` are near; see {@link CollisionWorld.gather}. */
  readonly near: Solid[] = [];
  count = 0;
  readonly #met = new Map<EntityId, Met>();
  /** Bodies that rules move; then the subset of them that is near. */
  readonly #moved = new Set<Met>();
  #movedNear: Met[] = [];
  /**
   * The bodies in the order of their ids, in which the server checks them. If `#isOrdered`, they are sorted and contain
   * no removed bodies.
   */
  #ordered: Met[] = [];
  #isOrdered = true;
  readonly #releases: (() => void)[];
  readonly #world: World;
  /** In kilograms. */
  #walkerMass: number;
  /** The collision layers of the walker. */
  #layers: Layers = DEFAULT_LAYERS;

  constructor(world: World, walkerMass: number) {
    this.#world = world;
    this.#walkerMass = walkerMass;
    this.#readAll();
    this.#releases = [
      world.on("define", () => this.#readAll()),
      world.on("spawn", ({ entity }) => this.#read(entity)),
      world.on("change", ({ entity }) => this.#read(entity)),
      world.on("despawn", ({ entity }) => this.#forget(entity.id)),
      world.on("snapshot", ({ tick, moved }) => {
        for (const entity of moved) {
          const met = this.#met.get(entity.id);
          if (met === undefined) continue;
          place(met, entity);
          // A packet may leave some steps after the step whose poses it holds.
          if (entity.hasJumped) met.motion?.jumped(entity.tick, entity.position, TURN);
          else met.motion?.moved(entity.tick, entity.position, TURN);
        }
        for (const { motion } of this.#moved) motion?.quiet(tick);
      }),
    ];
  }

  close(): void {
    for (const release of this.#releases) release();
  }

  /** Sets the mass in kilograms and the collision layers of the walker. */
  setWalker(mass: number, layers: Layers): void {
    const { layer, ignores } = this.#layers;
    if (this.#walkerMass === mass && layer === layers.layer && ignores === layers.ignores) return;
    this.#walkerMass = mass;
    this.#layers = layers;
    this.#readAll();
  }

  /**
   * Selects the bodies within `reach` metres of a walker, except two given bodies.
   */
  gather(
    { px, py, pz }: Pick<Mover, "px" | "py" | "pz">,
    reach: number,
    own: EntityId,
    held: EntityId | undefined,
  ): void {
    this.#order();
    this.count = 0;
    let moved = 0;
    for (let at = 0; at < this.#ordered.length && this.count < NEAR_MAX; at++) {
      const met = this.#ordered[at]!;
      const dx = met.x - px;
      const dy = met.y - py;
      const dz = met.z - pz;
      const far = reach + met.reach + (met.motion?.leadM ?? 0);
      // This also excludes a body with an invalid position.
      const isNear = dx * dx + dy * dy + dz * dz <= far * far;
      if (!isNear || met.id === own || met.id === held) continue;
      if (met.motion?.moves) this.#movedNear[moved++] = met;
      for (const solid of met.solids) if (this.count < NEAR_MAX) this.near[this.count++] = solid;
    }
    this.#movedNear.length = moved;
  }

  /**
   * Sets the near bodies that rules move to their poses after the world's step `tick`. If `tick` is
   * undefined, sets the received poses.
   */
  advance(tick: number | undefined): void {
    for (const { motion, solids } of this.#movedNear) {
      motion!.at(tick, PLACE, TURN);
      const moves = tick !== undefined && motion!.moves;
      for (const solid of solids) {
        solid.place(PLACE, TURN);
        solid.moves = moves;
        for (let axis = 0; axis < 3; axis++) {
          solid.pivot[axis] = PLACE[axis]!;
          solid.velocity[axis] = motion!.velocity[axis]!;
          solid.spin[axis] = motion!.spin[axis]!;
        }
      }
    }
  }

  /** The near body of which this solid is a part, if rules move it. */
  carrierOf(solid: Solid | undefined): EntityId | undefined {
    if (solid === undefined) return undefined;
    return this.#movedNear.find(({ solids }) => solids.includes(solid))?.id;
  }

  /**
   * Writes the pose of a body that rules move after the world's step `tick`. Returns false for
   * every other body.
   */
  placeOf(id: EntityId, tick: number, position: { [axis: number]: number }): boolean {
    const motion = this.#met.get(id)?.motion;
    motion?.at(tick, position, TURN);
    return motion !== undefined;
  }

  /** Sorts once for all bodies added since the last time, and drops removed ones. */
  #order(): void {
    if (this.#isOrdered) return;
    this.#ordered = [...this.#met.values()].sort((a, b) => a.id - b.id);
    this.#isOrdered = true;
  }

  #readAll(): void {
    this.#met.clear();
    this.#moved.clear();
    this.#movedNear.length = 0;
    this.#isOrdered = false;
    for (const entity of this.#world.entities.values()) this.#read(entity);
  }

  #read(entity: Entity): void {
    const parts = bodyPartsOf(entity);
    if (parts.length === 0 || pass(layersOf(entity.kind), this.#layers)) return this.#forget(entity.id);
    let met = this.#met.get(entity.id);
    if (met === undefined) {
      met = { id: entity.id, solids: [], parts: [], x: 0, y: 0, z: 0, reach: 0, motion: undefined };
      this.#met.set(entity.id, met);
      this.#isOrdered = false;
    }
    if (met.parts !== parts) met.solids = parts.map(solidOf);
    met.parts = parts;
    met.reach = Math.max(...parts.map(({ reach }) => reach));
    const isGroundOnly = givesWay(entity, parts, this.#walkerMass);
    const role = bodyOf(entity.kind)?.role ?? "obstacle";
    for (const solid of met.solids) {
      solid.isGroundOnly = isGroundOnly;
      solid.role = role;
    }
    place(met, entity);
    this.#setMotion(met, entity);
  }

  #setMotion(met: Met, { kind, position, tick }: Entity): void {
    if (bodyOf(kind)?.motion !== "kinematic") {
      met.motion = undefined;
      for (const solid of met.solids) solid.moves = false;
      this.#moved.delete(met);
      return;
    }
    if (met.motion !== undefined) return;
    met.motion = new BodyMotion();
    met.motion.jumped(tick, position, TURN);
    this.#moved.add(met);
  }

  #forget(id: EntityId): void {
    const met = this.#met.get(id);
    if (met === undefined) return;
    this.#met.delete(id);
    this.#moved.delete(met);
    this.#movedNear = this.#movedNear.filter((near) => near !== met);
    this.#isOrdered = false;
  }
}

function place(met: Met, { position, quaternion: rotation }: Entity): void {
  [met.x, met.y, met.z] = position;
  let squares = 0;
  for (let part = 0; part < 4; part++) {
    TURN[part] = rotation[part]!;
    squares += rotation[part]! * rotation[part]!;
  }
  // An invalid quaternion gives the body an invalid position, so that nothing collides with it.
  if (!(Math.abs(squares - 1) < TURN_ERROR_MAX)) met.x = Number.NaN;
  for (const solid of met.solids) solid.place(position, TURN);
}

/** Whether forces move a body that is light enough for a walker to push. */
function givesWay({ kind }: Entity, parts: readonly BodyPart[], walkerMass: number): boolean {
  const body = bodyOf(kind);
  if (body?.motion !== "dynamic") return false;
  const volume = parts.reduce((sum, part) => sum + part.volume, 0);
  const kilograms = body.mass ?? volume * body.density;
  return kilograms <= GIVES_WAY_TIMES * walkerMass;
}
