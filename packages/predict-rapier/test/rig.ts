/** A server with one walker and some bodies behind a link, in virtual time: a second Rapier that steps as the engine does. */
import type { World as RapierWorld, RigidBody } from "@dimforge/rapier3d-deterministic-compat";
import {
  bodyOf,
  createInterpolator,
  createPredictor,
  type EntityId,
  type Input,
  type Interpolator,
  type Predictor,
} from "nowcast/world";
import { bodyPartsOf, solidOf } from "../../nowcast/src/world/prediction/body-solids.js";
import { Mover } from "../../nowcast/src/world/prediction/mover.js";
import type { Solid } from "../../nowcast/src/world/prediction/solid.js";
import type { InputChange } from "../../nowcast/src/world/steps.js";
import { type BodyForm, formOf } from "../src/form.js";
import { type BodyPredictor, createBodyPredictor } from "../src/index.js";
import type { Rapier } from "../src/rapier.js";
import { steer, steerInMedium } from "../src/steer.js";
import {
  AVATAR,
  entityOf,
  GAIT,
  PERSON,
  type RigEntity,
  Source,
  STEP_MS,
  STILL,
  worldOf,
} from "./entities.js";

/** Equal to the server's constant in `crates/room/src/session/input_buffer.rs`. */
const WAIT_STEPS = 3;
const REST_STEPS = 60;
const LATE_STEPS_MAX = 60;
const STRIDE_EVERY_STEPS = 4;
const WINDOW_STEPS = 60;
const RESERVE_STEPS = 2;
/** Steps for which a body is sent after it moved, so that a lost packet leaves no old position. */
const TOLD_STEPS = 12;

export interface Link {
  /** There and back. */
  readonly delayMs: number;
  readonly jitterMs: number;
  readonly loss: number;
  /** Steps of the world between two messages of the server. */
  readonly everySteps: number;
}

export const LINK: Link = { delayMs: 100, jitterMs: 5, loss: 0.05, everySteps: 3 };

/** The positions shown in a frame. The moment is counted in the client's own steps. */
export interface Frame {
  readonly moment: number;
  readonly own: readonly number[];
  readonly bodies: ReadonlyMap<EntityId, readonly number[]>;
}

export class Rig {
  nowMs = 0;
  readonly source: Source;
  readonly predictor: Predictor;
  readonly interpolator: Interpolator;
  bodies: BodyPredictor | undefined;
  readonly frames: Frame[] = [];
  /** For each frame: the part of the avatar's correction that was applied, in metres. */
  readonly ownGlides: number[] = [];
  /** The same for each body that was shown as predicted. */
  readonly bodyGlides: number[] = [];
  /** Duration of both calls of `sample` in a frame, in microseconds. */
  readonly costUs: number[] = [];
  /** The server's positions of the avatar and each body, by the client's own steps. */
  readonly truth = new Map<number, ReadonlyMap<EntityId, readonly number[]>>();
  /** The server's work before a step of the walker, as a script would do it. */
  script: (rig: Rig, step: number, input: Input) => void = () => undefined;
  readonly mover = new Mover();
  readonly served = new Map<EntityId, RigidBody>();
  /** Actions in flight, each with its step. */
  actions: { readonly step: number; readonly name: string; readonly args: Record<string, unknown> }[] = [];
  waits = 0;

  readonly #world: RapierWorld;
  readonly avatar: RigidBody;
  readonly #solids: Solid[] = [];
  readonly #changedTick = new Map<EntityId, number>();
  readonly #said = new Map<EntityId, string>();
  #flights: { readonly atMs: number; readonly arrive: () => void }[] = [];
  #tick = 0;
  #next: number | undefined;
  #known = 0;
  #newest = 0;
  #owed = 0;
  #stillSteps = 0;
  #least = [0, 0];
  #input: Input = STILL;
  #waiting: { readonly step: number; readonly input: Input }[] = [];
  #heardTick = 0;
  readonly #link: Link;
  readonly #random: () => number;

  constructor(
    rapier: Rapier,
    link: Link,
    random: () => number,
    entities: readonly RigEntity[],
    actions: readonly object[] = [],
  ) {
    this.#link = link;
    this.#random = random;
    const { RigidBodyDesc, ColliderDesc } = rapier;
    const avatar = entityOf(AVATAR, PERSON, [0, 0.9, 0]);
    this.source = new Source([avatar, ...entities]);
    this.#world = new rapier.World({ x: 0, y: -9.81, z: 0 });
    for (const entity of entities) {
      const form = formOf(entity) as BodyForm;
      const desc =
        form.motion === "fixed"
          ? RigidBodyDesc.fixed()
          : form.motion === "kinematic"
            ? RigidBodyDesc.kinematicVelocityBased()
            : RigidBodyDesc.dynamic();
      const made = this.#world.createRigidBody(desc.setTranslation(...entity.position));
      this.#world.createCollider(form.build(rapier), made);
      if (form.motion !== "fixed") {
        this.served.set(entity.id, made);
      } else {
        for (const solid of bodyPartsOf(entity).map(solidOf)) {
          solid.role = bodyOf(entity.kind)?.role ?? "obstacle";
          solid.place(entity.position, [0, 0, 0, 1]);
          this.#solids.push(solid);
        }
      }
    }
    this.avatar = this.#world.createRigidBody(
      RigidBodyDesc.dynamic().setTranslation(0, 0.9, 0).lockRotations(),
    );
    const capsule = ColliderDesc.capsule(0.55, 0.35).setMass(70).setFriction(0);
    this.#world.createCollider(
      capsule.setFrictionCombineRule(rapier.CoefficientCombineRule.Min),
      this.avatar,
    );
    this.mover.restart(0, 0.9, 0);
    this.world = worldOf(this.source, {
      inputAtStep: (number: number, changes: readonly InputChange[]) => {
        const copies = changes.map((change) => ({ ...change }));
        this.#fly(() => this.#receive(number, copies));
        return true;
      },
      act: (name: string, args: Record<string, unknown>) => {
        // An action is an event, so a lost one is sent again.
        const step = Math.round(this.predictor.moment);
        const atMs = this.nowMs + this.#link.delayMs / 2;
        this.#flights.push({ atMs, arrive: () => this.actions.push({ step, name, args }) });
        return Promise.resolve();
      },
      definition: { version: 1, kinds: [], actions, events: [], assets: [] },
    });
    this.predictor = createPredictor(this.world, { nowMs: () => this.nowMs });
    this.interpolator = createInterpolator(this.world, {
      whenFree: (callback) => callback(),
      earliestMs: (readMs) => readMs,
    });
    this.source.tell("welcome", { tick: 0, stepHz: 60 });
  }

  readonly world: ReturnType<typeof worldOf>;

  async predictBodies(): Promise<BodyPredictor> {
    this.bodies = await createBodyPredictor(this.world, this.predictor);
    return this.bodies;
  }

  /** Advances the time, with one frame every 1/60 s. `controls` returns the input of each frame. */
  run(ms: number, controls: (nowMs: number, rig: Rig) => Input): void {
    const endMs = this.nowMs + ms;
    while (this.nowMs < endMs) {
      this.nowMs += 1;
      this.#land();
      while (Math.floor(this.nowMs / STEP_MS) > this.#tick) this.#serve();
      if (Math.floor(this.nowMs / STEP_MS) === Math.floor((this.nowMs - 1) / STEP_MS)) continue;
      this.#frame(controls(this.nowMs, this));
    }
  }

  close(): void {
    this.bodies?.close();
    this.predictor.close();
    this.interpolator.close();
    this.#world.free();
  }

  #frame(input: Input): void {
    const { predictor, interpolator, bodies } = this;
    const offsetM = predictor.offsetM;
    const offsets = [...this.served.keys()].map((id) => bodies?.offsetM(id) ?? 0);
    predictor.input(input);
    const beganMs = performance.now();
    predictor.sample(this.nowMs);
    bodies?.sample(this.nowMs);
    this.costUs.push((performance.now() - beganMs) * 1000);
    interpolator.sample(this.nowMs);
    this.ownGlides.push(Math.max(0, offsetM - predictor.offsetM));
    [...this.served.keys()].forEach((id, at) => {
      const glideM = offsets[at]! - (bodies?.offsetM(id) ?? 0);
      if (offsets[at]! > 0) this.bodyGlides.push(Math.max(0, glideM));
    });
    const pose = { position: [0, 0, 0], quaternion: [0, 0, 0, 1] };
    if (!predictor.pose(pose)) return;
    const own = [...pose.position];
    const shown = new Map<EntityId, readonly number[]>();
    for (const id of this.served.keys()) {
      if (!interpolator.pose(id, pose)) continue;
      if (bodies?.place(id, pose) !== true) predictor.place(id, pose.position);
      shown.set(id, [...pose.position, ...pose.quaternion]);
    }
    this.frames.push({ moment: predictor.moment, own, bodies: shown });
  }

  #land(): void {
    const landed = this.#flights.filter(({ atMs }) => atMs <= this.nowMs);
    this.#flights = this.#flights.filter(({ atMs }) => atMs > this.nowMs);
    for (const { arrive } of landed) arrive();
  }

  #fly(arrive: () => void): void {
    if (this.#random() < this.#link.loss) return;
    const atMs = this.nowMs + this.#link.delayMs / 2 + this.#random() * this.#link.jitterMs;
    this.#flights.push({ atMs, arrive });
  }

  /** Steps are counted modulo 2^16; no test takes that many. */
  #receive(number: number, changes: InputChange[]): void {
    const lead = this.#next === undefined ? 0 : number - this.#next;
    const stands = this.#rests;
    if (this.#next === undefined || (stands && (lead < WAIT_STEPS || lead > WAIT_STEPS + 2))) {
      this.#owed = this.#next === undefined ? 0 : Math.max(0, this.#next - number + WAIT_STEPS);
      this.#next = number - WAIT_STEPS;
    }
    this.#known = Math.max(this.#known, number);
    for (const { ago, ...input } of changes.reverse()) {
      const step = number - ago;
      if (step <= this.#newest) continue;
      this.#newest = step;
      const late = this.#next - step;
      if (late > 0 && late <= LATE_STEPS_MAX && stands) {
        this.#next = step;
        this.#owed += late;
      }
      this.#waiting.push({ step, input });
    }
  }

  get #rests(): boolean {
    return this.#waiting.length === 0 && this.#stillSteps >= REST_STEPS;
  }

  #serve(): void {
    this.#tick++;
    if (this.#next === undefined) return;
    const inHand = this.#known - this.#next;
    if (this.#tick % WINDOW_STEPS === 0) this.#least = [inHand, this.#least[0]!];
    this.#least[0] = Math.min(this.#least[0]!, inHand);
    const walks = inHand >= 0 || this.#rests;
    if (!walks) {
      this.waits++;
      this.#owed++;
    }
    const hasSpare = this.#owed > 0 && this.#least.every((least) => least > RESERVE_STEPS);
    if (walks && hasSpare && this.#tick % STRIDE_EVERY_STEPS === 0 && !this.#meetsMoving(this.mover)) {
      this.#owed--;
      this.#least = this.#least.map((least) => least - 1);
      const step = this.#takeInput();
      this.mover.step(GAIT, this.#input, this.#solids);
      this.#note(step);
    }
    const step = walks ? this.#takeInput() : this.#next - 1;
    this.script(this, step, this.#input);
    this.#stepWorld(walks);
    if (walks) this.#note(step);
    if (this.#tick % this.#link.everySteps === 0) this.#tell(step);
  }

  #takeInput(): number {
    const step = this.#next!++;
    while (this.#waiting.length > 0 && this.#waiting[0]!.step <= step) {
      this.#input = this.#waiting.shift()!.input;
    }
    const { forward, right, jump } = this.#input;
    this.#stillSteps = forward === 0 && right === 0 && !jump ? this.#stillSteps + 1 : 0;
    return step;
  }

  /** Steps as the engine does: `WalkerState::steer`, physics, and `settle`. */
  #stepWorld(walks: boolean): void {
    const { mover } = this;
    const before = new Mover();
    before.copy(mover);
    const velocity = new Float64Array(3);
    if (walks) {
      const steered = new Mover();
      steered.copy(mover);
      steered.step(GAIT, this.#input, this.#solids);
      if (steered.isInMedium) steerInMedium(steered, GAIT, velocity);
      else steer(before, GAIT, this.#input, velocity);
    } else velocity[1] = 9.81 / 60;
    const { x, y, z } = this.avatar.translation();
    if (x !== before.px || y !== before.py || z !== before.pz) {
      this.avatar.setTranslation({ x: before.px, y: before.py, z: before.pz }, true);
    }
    this.avatar.setLinvel({ x: velocity[0]!, y: velocity[1]!, z: velocity[2]! }, true);
    this.#world.step();
    if (!walks) return;
    mover.step(GAIT, this.#input, this.#solids);
    if (!this.#meetsMoving(before)) return;
    const [place, speed] = [this.avatar.translation(), this.avatar.linvel()];
    Object.assign(mover, { px: place.x, py: place.y, pz: place.z, vx: speed.x, vy: speed.y, vz: speed.z });
    this.#feel();
  }

  #meetsMoving({ px, py, pz, vx, vy, vz }: Mover): boolean {
    const margin = (Math.hypot(vx, vy, vz) + GAIT.runSpeed + GAIT.jumpSpeed) / 60 + 0.1;
    let isMet = false;
    const [wide, high] = [0.35 + margin, 0.9 + margin];
    this.#world.collidersWithAabbIntersectingAabb(
      { x: px, y: py, z: pz },
      { x: wide, y: high, z: wide },
      (collider) => {
        const body = collider.parent();
        isMet ||= body !== null && !body.isFixed() && body.handle !== this.avatar.handle;
        return true;
      },
    );
    return isMet;
  }

  #feel(): void {
    const { mover } = this;
    const own = this.avatar.collider(0);
    mover.groundCount = 0;
    this.#world.contactPairsWith(own, (other) => {
      this.#world.contactPair(own, other, (manifold, isFlipped) => {
        if (manifold.numSolverContacts() === 0 || mover.groundCount >= 4) return;
        const sign = isFlipped ? 1 : -1;
        const { x, y, z } = manifold.normal();
        if (y * sign < 0.555) return;
        mover.grounds.set([x * sign, y * sign, z * sign], 3 * mover.groundCount++);
      });
    });
  }

  #note(step: number): void {
    const places = new Map<EntityId, readonly number[]>();
    places.set(AVATAR, [this.mover.px, this.mover.py, this.mover.pz]);
    for (const [id, body] of this.served) {
      const [{ x, y, z }, turn] = [body.translation(), body.rotation()];
      places.set(id, [x, y, z, turn.x, turn.y, turn.z, turn.w]);
    }
    this.truth.set(step, places);
  }

  #tell(step: number): void {
    const tick = this.#tick;
    const news: Pick<RigEntity, "position" | "rotation">[] = [];
    const moved: RigEntity[] = [];
    for (const entity of this.source.entities.values()) {
      const body = entity.id === AVATAR ? this.avatar : this.served.get(entity.id);
      if (body === undefined) continue;
      const place =
        entity.id === AVATAR ? { x: this.mover.px, y: this.mover.py, z: this.mover.pz } : body.translation();
      const { x, y, z, w } = body.rotation();
      const fine = [x, y, z, w].map((part) => Math.round(part * 5000) / 5000);
      const length = Math.hypot(...fine);
      const rotation = fine.map((part) => part / length);
      const rounded = (metres: number) => Math.round(metres * 1024) / 1024;
      const position = [rounded(place.x), rounded(place.y), rounded(place.z)];
      const words = JSON.stringify([position, rotation]);
      if (this.#said.get(entity.id) !== words) this.#changedTick.set(entity.id, tick);
      this.#said.set(entity.id, words);
      if (tick - (this.#changedTick.get(entity.id) ?? -100) > TOLD_STEPS) continue;
      news.push({ position: position as never, rotation: rotation as never });
      moved.push(entity);
    }
    const attributes = { ...this.told };
    this.#fly(() => {
      if (tick <= this.#heardTick) return;
      this.#heardTick = tick;
      for (const [at, entity] of moved.entries()) Object.assign(entity, news[at], { tick });
      this.source.entities.get(AVATAR)!.attributes = attributes;
      this.source.tell("snapshot", {
        tick,
        ackedInputSequence: step & 0xffff,
        moved,
        receivedAtMs: this.nowMs,
      });
    });
  }

  /** Attributes of the avatar, as the server has them. */
  told: Record<string, unknown> = {};
}
