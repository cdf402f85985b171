import { eulerToQuaternion } from "../interpolation/rotation.js";
import type { Entity, EntityId, World } from "../world.js";
import { BodyMotion } from "./body-motion.js";
import { type BodyPart, bodyPartsOf, solidOf } from "./body-solids.js";
import type { PredictionCoupling } from "./coupling.js";
import type { Solid } from "./solid.js";

/** Dynamic bodies of at most this multiple of a walker's mass give way to it. They still carry it. */
const GIVES_WAY_TIMES = 4;
/** Maximum solids that are checked for one walker. */
const NEAR_MAX = 64;
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
  /** Around its middle, in metres. */
  reach: number;
  /** Of a body that rules move. */
  motion: BodyMotion | undefined;
}

/** The bodies that a walker can meet, at their last received poses or, if the rules move them, at their predicted ones. */
export class CollisionWorld {
  /** The first `count` are near; see {@link CollisionWorld.gather}. */
  readonly near: Solid[] = [];
  count = 0;
  readonly #met = new Map<EntityId, Met>();
  /** Bodies with a motion, and those of them that are near. */
  readonly #moved = new Set<Met>();
  #movedNear: Met[] = [];
  /** By their ids, the order in which the server checks them. Sorted and without removed bodies once `#isOrdered`. */
  #ordered: Met[] = [];
  #isOrdered = true;
  readonly #releases: (() => void)[];
  readonly #world: Pick<World, "on" | "entities">;
  /** In kilograms. */
  #walkerMass: number;

  constructor(world: Pick<World, "on" | "entities">, walkerMass: number) {
    this.#world = world;
    this.#walkerMass = walkerMass;
    this.#readAll();
    this.#releases = [
      world.on("define", () => this.#readAll()),
      world.on("spawn", ({ entities }) => {
        for (const entity of entities) this.#read(entity);
      }),
      world.on("change", ({ entity }) => this.#read(entity)),
      world.on("despawn", ({ entities }) => {
        for (const { id } of entities) this.#forget(id);
      }),
      world.on("snapshot", ({ tick, moved }) => {
        for (const entity of moved) {
          const met = this.#met.get(entity.id);
          if (met === undefined) continue;
          place(met, entity);
          met.motion?.moved(tick, entity.position, TURN);
        }
        for (const { motion } of this.#moved) motion?.quiet(tick);
      }),
    ];
  }

  close(): void {
    for (const release of this.#releases) release();
  }

  setWalkerMass(mass: number): void {
    if (this.#walkerMass === mass) return;
    this.#walkerMass = mass;
    this.#readAll();
  }

  /**
   * Selects the bodies within `reach` metres of a place, except two given ones and those that another simulation moves.
   */
  gather(
    x: number,
    y: number,
    z: number,
    reach: number,
    own: EntityId,
    held: EntityId | undefined,
    others?: Pick<PredictionCoupling, "owns">,
  ): void {
    this.#order();
    this.count = 0;
    this.#movedNear.length = 0;
    for (let at = 0; at < this.#ordered.length && this.count < NEAR_MAX; at++) {
      const met = this.#ordered[at]!;
      const [dx, dy, dz] = [met.x - x, met.y - y, met.z - z];
      const far = reach + met.reach;
      // A body with an invalid position is not near either.
      const isNear = dx * dx + dy * dy + dz * dz <= far * far;
      if (!isNear || met.id === own || met.id === held || others?.owns(met.id)) continue;
      if (met.motion?.moves) this.#movedNear.push(met);
      for (const solid of met.solids) if (this.count < NEAR_MAX) this.near[this.count++] = solid;
    }
  }

  /** Places the near bodies that rules move where they are after the world's step `tick`; undefined for where they were received. */
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

  /** The near body that rules move and that this solid is a part of. */
  carrierOf(solid: Solid | undefined): EntityId | undefined {
    if (solid === undefined) return undefined;
    return this.#movedNear.find(({ solids }) => solids.includes(solid))?.id;
  }

  /** Writes where a body that rules move is after the world's step `tick`; false for every other body. */
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
    if (parts.length === 0) return this.#forget(entity.id);
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
    for (const solid of met.solids) solid.isGroundOnly = isGroundOnly;
    place(met, entity);
    this.#setMotion(met, entity);
  }

  #setMotion(met: Met, { kind, position, tick }: Entity): void {
    if (kind.body?.motion !== "kinematic") {
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

function place(met: Met, { position, euler }: Entity): void {
  [met.x, met.y, met.z] = position;
  eulerToQuaternion(euler[0], euler[1], euler[2], TURN);
  // Angles that are not finite give no rotation.
  if (!Number.isFinite(TURN[0]! + TURN[1]! + TURN[2]! + TURN[3]!)) met.x = Number.NaN;
  for (const solid of met.solids) solid.place(position, TURN);
}

/** Whether forces move a body that is light enough for a walker to push. */
function givesWay({ kind }: Entity, parts: readonly BodyPart[], walkerMass: number): boolean {
  const { motion, mass, density } = kind.body ?? {};
  if (motion !== undefined && motion !== "dynamic") return false;
  const volume = parts.reduce((sum, part) => sum + part.volume, 0);
  const kilograms = typeof mass === "number" ? mass : volume * (typeof density === "number" ? density : 1);
  return kilograms <= GIVES_WAY_TIMES * walkerMass;
}
