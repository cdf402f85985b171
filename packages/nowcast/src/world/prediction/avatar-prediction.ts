/** Predicts the local avatar, and the entities that the avatar moves. Its code is loaded when there is such an avatar. */
import { walkerOf } from "../describe/walker.js";
import type { PosedWorld } from "../posed-world.js";
import { createPoseBuffer, type PoseBuffer, type PoseLayer } from "../poses/layer.js";
import type { AvatarMotions, Entity, EntityId, Input, Prediction, WorldRecord } from "../world.js";
import { HeldItemPrediction } from "./held-item-prediction.js";
import { MotionPrediction } from "./motion-prediction.js";
import { StepClock } from "./step-clock.js";
import type { StepModel } from "./step-model.js";
import { WalkerPrediction } from "./walker-prediction.js";

/**
 * An avatar that is farther than this, in metres, from its place before a cut was moved by the rules. A shorter way is the one that
 * the page predicted before it knew of the cut.
 */
const REJOIN_M_MAX = 10;

/** Predicts walkers, and kinds for which the page has step functions. Numbers their steps without a gap. */
export class AvatarPrediction implements PoseLayer, Prediction {
  /** Whether the avatar is displayed at its predicted pose. */
  isShown = false;
  /** Whether the rules put the avatar elsewhere since the frame before. */
  hasJumped = false;
  #jumps = false;
  readonly layers: readonly PoseLayer[];
  readonly #world: PosedWorld;
  readonly #clock: StepClock;
  readonly #held: HeldItemPrediction;
  readonly #walker: WalkerPrediction;
  readonly #motion: MotionPrediction;
  readonly #motions: AvatarMotions;
  readonly #shown = createPoseBuffer();
  readonly #interpolated = createPoseBuffer();
  readonly #releases: readonly (() => void)[];
  #model: StepModel | undefined;
  #avatarId: EntityId | undefined;
  /** The avatar that was displayed when the connection was replaced. */
  #rejoined: EntityId | undefined;

  constructor(world: PosedWorld, motions: AvatarMotions = {}) {
    this.#world = world;
    this.#motions = motions;
    this.#clock = new StepClock(world);
    this.#held = new HeldItemPrediction(world);
    this.#walker = new WalkerPrediction(world, this.#clock, this.#held);
    this.#motion = new MotionPrediction(this.#clock, motions);
    this.layers = [this, this.#held, ...this.#walker.layers];
    this.#releases = [
      world.on("welcome", () => {
        this.#rejoined = this.isShown ? this.#avatarId : this.#rejoined;
        this.#end();
      }),
      world.on("snapshot", ({ tick, ackedInputSequence, moved }) => {
        const avatar = this.#avatar;
        this.#jumps ||= avatar?.hasJumped === true && moved.includes(avatar);
        const step = avatar && this.#clock.acknowledged(ackedInputSequence);
        this.#walker.onMovement(this.#model === this.#walker ? step : undefined, tick, moved);
        if (avatar && step !== undefined) this.#model?.onSnapshot(avatar, step, tick, moved);
      }),
    ];
  }

  get step(): number {
    return this.#clock.step;
  }

  get moment(): number {
    return this.#clock.moment;
  }

  get skippedSteps(): number {
    return this.#clock.skippedSteps;
  }

  get offsetM(): number {
    return this.#model?.offsetM ?? 0;
  }

  get errorM(): number {
    return this.#model?.errorM ?? 0;
  }

  get corrections(): number {
    return this.#walker.corrections + this.#motion.corrections;
  }

  get carriedYaw(): number {
    return this.#walker.carriedYaw;
  }

  get holding(): EntityId | undefined {
    return this.#held.holding;
  }

  /** The number of the displayed step, modulo 2^16; `undefined` while no avatar takes steps. It lies between two steps, and the nearer one counts. */
  get actionStep(): number | undefined {
    return this.#model === undefined ? undefined : Math.round(this.#clock.moment) & 0xffff;
  }

  predicted(step: number, out: { [axis: number]: number }): boolean {
    if (this.#model === undefined || !this.#clock.has(step)) return false;
    this.#model.readPosition(step, out);
    return true;
  }

  /** Sets the input from the next step on. Returns false if the avatar is not predicted. */
  input(input: Input): boolean {
    this.#clock.input(input);
    return this.#model !== undefined;
  }

  /** Shows the effect of an action that was sent, if the world declares one. */
  acted(action: string, args: WorldRecord): void {
    if (this.#model === this.#walker) this.#walker.acted(action, args);
  }

  /** Takes the steps up to this moment. */
  frame(nowMs: number, interpolator: PoseLayer): void {
    const clock = this.#clock;
    this.hasJumped = this.#jumps;
    this.#jumps = false;
    clock.frame(nowMs);
    this.#follow();
    const avatar = this.#avatar;
    const model = this.#model;
    this.#held.acknowledge();
    this.isShown = false;
    if (avatar === undefined || model === undefined) return;
    let steps = clock.advance();
    if (clock.skip(steps)) {
      steps = 1;
      model.restart(avatar);
      clock.sender.restart(clock.step);
    }
    model.advance(avatar, steps);
    if (this.#world.status === "open") clock.sender.flush(clock.frameMs, clock.step);
    this.isShown = interpolator.place(avatar.id, this.#interpolated);
    if (!this.isShown) return;
    const { position } = this.#interpolated;
    model.pose(this.#shown);
    for (let axis = 0; axis < 3; axis++)
      this.#held.shift[axis] = this.#shown.position[axis]! - position[axis]!;
  }

  /** Places the avatar. */
  place(id: EntityId, { position, quaternion }: PoseBuffer): boolean {
    if (!this.isShown || id !== this.#avatarId) return false;
    for (let axis = 0; axis < 3; axis++) position[axis] = this.#shown.position[axis]!;
    for (let part = 0; part < 4; part++) quaternion[part] = this.#shown.quaternion[part]!;
    return true;
  }

  close(): void {
    for (const release of this.#releases) release();
    this.#end();
    this.#held.close();
    this.#walker.close();
  }

  /** The avatar whose steps are predicted. */
  get #avatar(): Entity | undefined {
    return this.#avatarId === undefined ? undefined : this.#world.entities.get(this.#avatarId);
  }

  /** Starts with another avatar, or after the avatar's kind changed. */
  #follow(): void {
    const { avatar } = this.#world;
    const model = avatar && this.#modelOf(avatar);
    if (avatar?.id === this.#avatarId && model === this.#model) return;
    this.#end();
    if (avatar === undefined || model === undefined) return;
    if (model === this.#walker) this.#walker.prepare(avatar);
    if (!this.#clock.begin()) return;
    this.#model = model;
    this.#avatarId = avatar.id;
    model.begin(avatar);
    if (avatar.id === this.#rejoined && this.#distanceFrom(avatar.position) < REJOIN_M_MAX)
      model.glideFrom(this.#shown.position);
    this.#rejoined = undefined;
    this.#clock.sender.restart(this.#clock.step);
  }

  /** The distance of a position from the last displayed one. */
  #distanceFrom([x, y, z]: Entity["position"]): number {
    const { position } = this.#shown;
    return Math.hypot(position[0]! - x, position[1]! - y, position[2]! - z);
  }

  #modelOf({ kind, parent }: Entity): StepModel | undefined {
    if (Object.hasOwn(this.#motions, kind.name)) return this.#motion;
    // A seated walker follows the entity on which it sits.
    return walkerOf(kind) !== undefined && parent === undefined ? this.#walker : undefined;
  }

  #end(): void {
    this.#walker.end();
    this.#held.end();
    this.#model = undefined;
    this.#avatarId = undefined;
    this.isShown = false;
  }
}
