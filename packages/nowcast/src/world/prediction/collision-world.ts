import { eulerToQuaternion } from "../interpolation/rotation.js";
import type { Entity, EntityId, World } from "../world.js";
import { type BodyPart, bodyPartsOf, solidOf } from "./body-solids.js";
import type { PredictionCoupling } from "./coupling.js";
import type { Solid } from "./solid.js";

/** Dynamic bodies of at most this multiple of a walker's mass give way to it. They still carry it. */
const GIVES_WAY_TIMES = 4;
/** Maximum solids that are checked for one walker. */
const NEAR_MAX = 64;
const TURN = [0, 0, 0, 1];

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
}

/** The bodies that a walker can meet, at their last received poses. */
export class CollisionWorld {
  /** The first `count` are near; see {@link CollisionWorld.gather}. */
  readonly near: Solid[] = [];
  count = 0;
  readonly #met = new Map<EntityId, Met>();
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
      world.on("snapshot", ({ moved }) => {
        for (const entity of moved) {
          const met = this.#met.get(entity.id);
          if (met !== undefined) place(met, entity);
        }
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
    for (let at = 0; at < this.#ordered.length && this.count < NEAR_MAX; at++) {
      const met = this.#ordered[at]!;
      const [dx, dy, dz] = [met.x - x, met.y - y, met.z - z];
      const far = reach + met.reach;
      // A body with an invalid position is not near either.
      const isNear = dx * dx + dy * dy + dz * dz <= far * far;
      if (!isNear || met.id === own || met.id === held || others?.owns(met.id)) continue;
      for (const solid of met.solids) if (this.count < NEAR_MAX) this.near[this.count++] = solid;
    }
  }

  /** Sorts once for all bodies added since the last time, and drops removed ones. */
  #order(): void {
    if (this.#isOrdered) return;
    this.#ordered = [...this.#met.values()].sort((a, b) => a.id - b.id);
    this.#isOrdered = true;
  }

  #readAll(): void {
    this.#met.clear();
    this.#isOrdered = false;
    for (const entity of this.#world.entities.values()) this.#read(entity);
  }

  #read(entity: Entity): void {
    const parts = bodyPartsOf(entity);
    if (parts.length === 0) return this.#forget(entity.id);
    let met = this.#met.get(entity.id);
    if (met === undefined) {
      met = { id: entity.id, solids: [], parts: [], x: 0, y: 0, z: 0, reach: 0 };
      this.#met.set(entity.id, met);
      this.#isOrdered = false;
    }
    if (met.parts !== parts) met.solids = parts.map(solidOf);
    met.parts = parts;
    met.reach = Math.max(...parts.map(({ reach }) => reach));
    const isGroundOnly = givesWay(entity, parts, this.#walkerMass);
    for (const solid of met.solids) solid.isGroundOnly = isGroundOnly;
    place(met, entity);
  }

  #forget(id: EntityId): void {
    if (this.#met.delete(id)) this.#isOrdered = false;
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
