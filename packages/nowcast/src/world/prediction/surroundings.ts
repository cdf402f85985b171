import { eulerToQuaternion } from "../interpolation/rotation.js";
import type { Entity, EntityId, Kind, World } from "../world.js";
import type { PredictionCoupling } from "./coupling.js";
import { Solid } from "./solid.js";

const f = Math.fround;
/** Bodies that are at most so many times as heavy as a walker give way to it; they carry it all the same. */
const GIVES_WAY_TIMES = 4;
/** Bodies that are looked at for one walker. */
const NEAR_MAX = 64;
const TURN = [0, 0, 0, 1];

interface Met {
  readonly solid: Solid;
  readonly id: EntityId;
  /** Around its middle, in metres. */
  reach: number;
}

/** What a walker can meet, as far as a client knows it: boxes, spheres and capsules, where they were heard of last. */
export class Surroundings {
  /** The first `count` are near; see {@link Surroundings.gather}. */
  readonly near: Solid[] = [];
  count = 0;
  readonly #met = new Map<EntityId, Met>();
  /** By their ids: the order in which the server looks at them. */
  #ordered: Met[] = [];
  readonly #releases: (() => void)[];

  constructor(
    private readonly world: Pick<World, "on" | "entities">,
    /** In kilograms. */
    private walkerMass: number,
  ) {
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
          if (met !== undefined) place(met.solid, entity);
        }
      }),
    ];
  }

  close(): void {
    for (const release of this.#releases) release();
  }

  setWalkerMass(mass: number): void {
    if (this.walkerMass === mass) return;
    this.walkerMass = mass;
    this.#readAll();
  }

  /** Chooses what lies within `reach` metres of a place, but for two of them and for what somebody else moves. */
  gather(
    x: number,
    y: number,
    z: number,
    reach: number,
    own: EntityId,
    held: EntityId | undefined,
    others?: Pick<PredictionCoupling, "owns">,
  ): void {
    this.count = 0;
    for (let at = 0; at < this.#ordered.length && this.count < NEAR_MAX; at++) {
      const met = this.#ordered[at]!;
      const { center } = met.solid;
      const [dx, dy, dz] = [center[0]! - x, center[1]! - y, center[2]! - z];
      const far = reach + met.reach;
      // What is nowhere, by numbers that are none, is not near either.
      const isNear = dx * dx + dy * dy + dz * dz <= far * far;
      if (!isNear || met.id === own || met.id === held) continue;
      if (others?.owns(met.id)) continue;
      this.near[this.count++] = met.solid;
    }
  }

  #readAll(): void {
    this.#met.clear();
    this.#ordered = [];
    for (const entity of this.world.entities.values()) this.#read(entity);
  }

  #read(entity: Entity): void {
    const met = this.#met.get(entity.id) ?? { solid: new Solid(), id: entity.id, reach: 0 };
    const { solid } = met;
    if (!readForm(solid, entity, this.walkerMass)) return this.#forget(entity.id);
    place(solid, entity);
    met.reach = Math.hypot(solid.half[0]!, solid.half[1]!, solid.half[2]!) + solid.radius;
    if (this.#met.has(entity.id)) return;
    this.#met.set(entity.id, met);
    this.#ordered.push(met);
    this.#ordered.sort((a, b) => a.id - b.id);
  }

  #forget(id: EntityId): void {
    if (!this.#met.delete(id)) return;
    this.#ordered = this.#ordered.filter((met) => met.id !== id);
  }
}

function place(solid: Solid, { position, euler }: Entity): void {
  eulerToQuaternion(euler[0], euler[1], euler[2], TURN);
  solid.place(position, TURN);
  // Angles without an end turn to nowhere.
  if (!Number.isFinite(TURN[0]! + TURN[1]! + TURN[2]! + TURN[3]!)) solid.center.fill(Number.NaN);
}

/** False for what nobody meets, or whose form is not known here. */
function readForm(solid: Solid, { kind, scale }: Entity, walkerMass: number): boolean {
  const { body } = kind;
  if (body === undefined || kind.walker !== undefined || body["motion"] === "sensor") return false;
  const [sx, sy, sz] = scale;
  const radius = numberOf(body["radius"]);
  const height = numberOf(body["height"]);
  solid.half.fill(0);
  solid.radius = 0;
  if (body["shape"] === "box") {
    const size = body["size"];
    if (!Array.isArray(size)) return false;
    solid.half[0] = f(f(numberOf(size[0]) * sx) * 0.5);
    solid.half[1] = f(f(numberOf(size[1]) * sy) * 0.5);
    solid.half[2] = f(f(numberOf(size[2]) * sz) * 0.5);
  } else if ((body["shape"] === "sphere" || body["shape"] === "capsule") && sx === sy && sy === sz) {
    solid.radius = f(radius * sx);
    if (body["shape"] === "capsule") solid.half[1] = f(f(f(height * 0.5) - radius) * sx);
  } else {
    return false;
  }
  const isLoose = body["motion"] === undefined || body["motion"] === "dynamic";
  solid.isGroundOnly = isLoose && massOf(kind, solid) <= GIVES_WAY_TIMES * walkerMass;
  return true;
}

/** In kilograms. */
function massOf({ body }: Kind, { half, radius }: Solid): number {
  const mass = body?.["mass"];
  if (typeof mass === "number") return mass;
  const volume =
    radius > 0
      ? (4 / 3) * Math.PI * radius ** 3 + 2 * half[1]! * Math.PI * radius ** 2
      : 8 * half[0]! * half[1]! * half[2]!;
  return volume * (numberOf(body?.["density"]) || 1);
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
