/** The motion of held and thrown bodies, by the rules of `worlds/playground`. */
import type { Gait, WalkerMotion } from "nowcast/extend";
import type { EntityId, Input } from "nowcast/world";
import { type Island, STEPS_KEPT, STRIDE } from "./island.js";
import type { Member } from "./member.js";

/**
 * Distance from the body to a held item, and its height above the middle of the body, in metres; equal to the SDK's own
 * hands.
 */
const HAND_M = 0.2;
const HAND_RISE_M = 0.1;
const FOLLOW_PER_S = 14;
const CARRY_MPS = 9;
const CARRY_N = 2_400;
const CARRY_MPS2 = 90;
const UPRIGHT_PER_S = 12;
const UPRIGHT_RADPS = 8;
/** Time after its release for which an item passes through its former holder, in steps. */
const PASSING_STEPS = 15;
/** Maximum number of remembered throws. */
const THROWS_MAX = 8;

interface Throw {
  readonly step: number;
  readonly id: EntityId;
  /** The velocity relative to the thrower. */
  readonly velocity: readonly number[];
}

export class Grasp {
  /** The held entity at each of the recent steps; 0 for nothing. */
  readonly #held = new Float64Array(STEPS_KEPT);
  readonly #throws: Throw[] = [];

  restart(): void {
    this.#held.fill(0);
    this.#throws.length = 0;
  }

  note(step: number, held: EntityId | undefined): void {
    this.#held[step & (STEPS_KEPT - 1)] = held ?? 0;
  }

  heldAt(step: number): EntityId | undefined {
    const held = this.#held[step & (STEPS_KEPT - 1)]!;
    return held === 0 ? undefined : (held as EntityId);
  }

  threw(step: number, id: EntityId, velocity: readonly number[]): void {
    if (this.#throws.length >= THROWS_MAX) this.#throws.shift();
    this.#throws.push({ step, id, velocity });
  }

  /**
   * Moves held bodies toward their place, and releases thrown bodies. Called before each step. Returns true for a body
   * that the local avatar holds.
   */
  apply(
    island: Island,
    member: Member,
    step: number,
    input: Input,
    gait: Gait,
    holder: WalkerMotion,
  ): boolean {
    const isHeld = this.heldAt(step) === member.id;
    let isPassing = isHeld;
    for (let ago = 1; ago <= PASSING_STEPS && !isPassing; ago++)
      isPassing = this.heldAt(step - ago) === member.id;
    const how = isHeld ? "held" : isPassing ? "passing" : "free";
    if (member.how !== how) island.setHeld(member.slot, isHeld, isPassing);
    member.how = how;
    if (isHeld) hold(island, member, input, gait, holder);
    else member.grip = undefined;
    for (const { step: thrown, id, velocity } of this.#throws) {
      if (thrown !== step - 1 || id !== member.id) continue;
      const [x, y, z] = velocity;
      island.setVelocity(member.slot, x! + holder.vx, y! + holder.vy, z! + holder.vz);
      member.touchedStep = Math.max(member.touchedStep, step);
    }
    return isPassing;
  }
}

function hold(
  island: Island,
  member: Member,
  { yaw }: Input,
  gait: Gait,
  { px, py, pz, vx, vy, vz }: WalkerMotion,
): void {
  const { states } = island;
  const at = member.slot * STRIDE;
  const [hx, , hz] = member.track.form!.half;
  const away = gait.radius + HAND_M + Math.max(hx, hz);
  const pull = [
    px - Math.sin(yaw) * away - states[at]!,
    py + HAND_RISE_M - states[at + 1]!,
    pz - Math.cos(yaw) * away - states[at + 2]!,
  ].map((way) => way * FOLLOW_PER_S);
  const fast = Math.hypot(...pull);
  const share = fast > CARRY_MPS ? CARRY_MPS / fast : 1;
  const wanted = [pull[0]! * share + vx, pull[1]! * share + vy, pull[2]! * share + vz];
  const change = wanted.map((speed, axis) => speed - states[at + 7 + axis]!);
  const most = Math.min(CARRY_N / Math.max(island.mass(member.slot), 0.1), CARRY_MPS2) / 60;
  const much = Math.hypot(...change);
  const part = much > most ? most / much : 1;
  const [x, y, z] = change.map((speed, axis) => states[at + 7 + axis]! + speed * part);
  island.setVelocity(member.slot, x!, y!, z!);
  turnUpright(island, member, yaw);
}

/** Players carry items upright, turned by a multiple of a right angle. */
function turnUpright(island: Island, member: Member, yaw: number): void {
  const { states } = island;
  const at = member.slot * STRIDE + 3;
  const [x, y, z, w] = [states[at]!, states[at + 1]!, states[at + 2]!, states[at + 3]!];
  const own = Math.atan2(2 * (x * z + w * y), 1 - 2 * (x * x + y * y));
  member.grip ??= (Math.round((own - yaw) / (Math.PI / 2)) * Math.PI) / 2;
  const turn = wrap(yaw + member.grip - own);
  const upX = 2 * (x * y - z * w);
  const upY = 1 - 2 * (x * x + z * z);
  const upZ = 2 * (y * z + x * w);
  // The turn toward upright is about an axis perpendicular to the one that points up.
  const [tiltX, tiltZ] = upY > 0.5 ? [-upZ, upX] : [0, 0];
  const [sx, sy, sz] = [tiltX * UPRIGHT_PER_S, turn * UPRIGHT_PER_S, tiltZ * UPRIGHT_PER_S];
  const fast = Math.hypot(sx, sy, sz);
  const share = fast > UPRIGHT_RADPS ? UPRIGHT_RADPS / fast : 1;
  island.setSpin(member.slot, sx * share, sy * share, sz * share);
}

function wrap(angle: number): number {
  return angle - Math.round(angle / (2 * Math.PI)) * 2 * Math.PI;
}
