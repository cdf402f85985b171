import { Matrix4, Quaternion, Vector3 } from "three";
import { describe, expect, it } from "vitest";
import { Crowd } from "../src/people/crowd.js";
import { createJointAngles } from "../src/people/gait.js";
import { BODY, Skeleton } from "../src/people/skeleton.js";
import { poseTracked } from "../src/people/tracked/limbs.js";
import { type TrackedKind, type TrackedPart, trackedPartOf } from "../src/people/tracked/tracked-kinds.js";
import { TRACKED_S_MAX, type TrackedEntity, Tracking } from "../src/people/tracked/tracking.js";
import { copyPose, createPose, type Pose } from "../src/pose.js";

/** The position of the head joint for which the eyes are at a place and face -Z. */
const NECK_BELOW_EYES = new Vector3(0, -0.19, 0.1);

/** A body that stands at a place and faces `yaw`. */
function standing(x: number, y: number, z: number, yaw = 0): { skeleton: Skeleton; root: Matrix4 } {
  const skeleton = new Skeleton();
  skeleton.pose(createJointAngles());
  const turn = new Quaternion().setFromAxisAngle(new Vector3(0, 1, 0), yaw);
  return { skeleton, root: new Matrix4().compose(new Vector3(x, y, z), turn, new Vector3(1, 1, 1)) };
}

const worldOf = (object: { matrixWorld: Matrix4 }): Vector3 =>
  new Vector3().setFromMatrixPosition(object.matrixWorld);

/** The end of the forearm. */
const wristOf = (forearm: { matrixWorld: Matrix4 }): Vector3 =>
  new Vector3(0, -BODY.forearm, 0).applyMatrix4(forearm.matrixWorld);

describe("a body with a headset", () => {
  it("has its head at the headset's pose", () => {
    const { skeleton, root } = standing(3, 0.9, -2, 1.1);
    const turn = new Quaternion().setFromAxisAngle(new Vector3(0, 1, 0), 1.5);
    const head = createPose(3.1, 1.5, -1.95, 1.5);
    poseTracked(skeleton, root, { head, left: undefined, right: undefined });
    const eyes = new Vector3(0, 0.19, -0.1).applyMatrix4(skeleton.head.matrixWorld);
    expect(eyes.distanceTo(new Vector3(3.1, 1.5, -1.95))).toBeLessThan(0.01);
    expect(new Quaternion().setFromRotationMatrix(skeleton.head.matrixWorld).angleTo(turn)).toBeLessThan(
      0.01,
    );
  });

  it("bends its knees when the head comes down, and keeps its feet on the ground", () => {
    const { skeleton, root } = standing(0, 0.9, 0);
    skeleton.place(root);
    const before = worldOf(skeleton.footLeft);
    const eyes = worldOf(skeleton.head).sub(NECK_BELOW_EYES);
    poseTracked(skeleton, root, {
      head: createPose(0, eyes.y - 0.35, eyes.z),
      left: undefined,
      right: undefined,
    });
    expect(worldOf(skeleton.footLeft).y).toBeCloseTo(before.y, 1);
    expect(worldOf(skeleton.pelvis).y).toBeLessThan(0.6);
    expect(skeleton.shinLeft.rotation.x).toBeLessThan(-0.8);
  });

  it("brings its wrists to where the hands are, with the elbows below", () => {
    for (const yaw of [0, 0.7, -2.5]) {
      const { skeleton, root } = standing(1, 0.9, 1, yaw);
      const place = (x: number, y: number, z: number): Pose => {
        const { x: wx, y: wy, z: wz } = new Vector3(x, y, z).applyMatrix4(root);
        return createPose(wx, wy, wz);
      };
      const left = place(-0.25, 0.25, -0.35);
      const right = place(0.3, 0.45, -0.3);
      poseTracked(skeleton, root, { head: undefined, left, right });
      expect(wristOf(skeleton.forearmLeft).distanceTo(left.position)).toBeLessThan(0.005);
      expect(wristOf(skeleton.forearmRight).distanceTo(right.position)).toBeLessThan(0.005);
      expect(worldOf(skeleton.forearmLeft).y).toBeLessThan(worldOf(skeleton.upperArmLeft).y);
    }
  });

  it("stretches an arm toward a hand that is too far away, and stays whole", () => {
    const { skeleton, root } = standing(0, 0.9, 0);
    poseTracked(skeleton, root, { head: undefined, left: undefined, right: createPose(0.2, 1.3, -4) });
    const wrist = wristOf(skeleton.forearmRight);
    expect(wrist.distanceTo(worldOf(skeleton.upperArmRight))).toBeCloseTo(BODY.upperArm + BODY.forearm, 2);
    expect(wrist.z).toBeLessThan(-0.5);
  });
});

/** A headset of player 7, whose avatar is entity 1, as received. */
class Bench {
  readonly poses = new Map<number, Pose>();
  readonly tracking = new Tracking(new Crowd(), (player) => (player === 7 ? 1 : undefined));
  readonly hand = { id: 5, owner: 7, tick: 10, attributes: { left: true, grip: 0.5, beat: false } };

  constructor() {
    this.tracking.add(this.hand, "hand");
    this.poses.set(5, createPose(1, 1, 1));
    this.wait(0.1);
  }

  get isShown(): boolean {
    return [...this.tracking.all].some(({ isShown }) => isShown);
  }

  wait(seconds: number): void {
    for (let passed = 0; passed < seconds; passed += 0.05) {
      this.tracking.place({
        pose: (id, out) => {
          const pose = this.poses.get(id);
          if (pose) copyPose(pose, out);
          return pose !== undefined;
        },
        display: { hasJumped: () => false },
      });
      this.tracking.update(0.05);
    }
  }
}

describe("a hand of another player", () => {
  it("is shown at the received pose, with the received side and grip", () => {
    const bench = new Bench();
    const [shown] = [...bench.tracking.all];
    expect(shown).toMatchObject({ isShown: true, isLeft: true, grip: 0.5, ...createPose(1, 1, 1) });
  });

  it("is hidden without updates, and shown again with the next one", () => {
    const bench = new Bench();
    bench.wait(TRACKED_S_MAX - 0.3);
    expect(bench.isShown).toBe(true);
    bench.wait(0.5);
    expect(bench.isShown).toBe(false);
    bench.hand.tick++;
    bench.wait(0.1);
    expect(bench.isShown).toBe(true);
  });

  it("stays while its owner is at rest and reports so", () => {
    const bench = new Bench();
    for (let beat = 0; beat < 6; beat++) {
      bench.hand.attributes = { ...bench.hand.attributes, beat: beat % 2 === 0 };
      bench.wait(1);
      expect(bench.isShown).toBe(true);
    }
  });

  it("has attributes of any type, because its owner may set any", () => {
    const bench = new Bench();
    const strange = [
      { grip: Number.NaN },
      { grip: "x", joints: 5 },
      { joints: new Uint8Array(3), left: "yes" },
      {},
    ];
    for (const attributes of strange) {
      (bench.hand as { attributes: TrackedEntity["attributes"] }).attributes = attributes;
      bench.wait(0.2);
      const [shown] = [...bench.tracking.all];
      expect(shown!.grip).toBeGreaterThanOrEqual(0);
      expect(shown!.rotations.every(Number.isFinite)).toBe(true);
    }
  });
});

describe("kinds", () => {
  it("are heads and hands if players may spawn them, and not if a robot has them", () => {
    const cases: [string, TrackedKind["owner"], TrackedPart | undefined][] = [
      ["hand", { by: "player", spawns: 2 }, "hand"],
      ["head", { by: "anyone", spawns: 1 }, "head"],
      ["hand", { by: "program", spawns: 2 }, undefined],
      ["hand", { by: "player", spawns: 0 }, undefined],
      ["hand", undefined, undefined],
      ["ball", { by: "player", spawns: 2 }, undefined],
    ];
    for (const [name, owner, part] of cases) expect(trackedPartOf({ name, owner })).toBe(part);
  });
});
