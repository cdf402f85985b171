import type { Entity, EntityId } from "nowcast/world";
import { expect, it } from "vitest";
import { createPose } from "../src/pose.js";
import { ShownPoses, type ShownPrediction } from "../src/shown-poses.js";

const [AVATAR, BLOCK, BALL, FLAG] = [1, 2, 3, 4] as EntityId[] as [EntityId, EntityId, EntityId, EntityId];

/** All entities are interpolated at x = their id; the avatar is predicted two metres ahead. */
function shown(): ShownPoses {
  const of = (id: EntityId, parent?: EntityId): [EntityId, Entity] => [
    id,
    { id, parent, attributes: {} } as unknown as Entity,
  ];
  const entities = new Map([of(AVATAR), of(BLOCK), of(BALL), of(FLAG, AVATAR)]);
  const interpolator = {
    sample: () => undefined,
    pose: (id: EntityId, out: Parameters<ShownPrediction["pose"]>[0]) => {
      [id, 0, 0].forEach((coordinate, axis) => {
        out.position[axis] = coordinate;
      });
      [0, 0, 0, 1].forEach((component, i) => {
        out.quaternion[i] = component;
      });
      return true;
    },
  };
  const prediction: ShownPrediction = {
    sample: () => undefined,
    holding: undefined,
    place: () => false,
    pose: (out, interpolated) => {
      out.position[0] = interpolated.position[0]!;
      out.position[1] = 0;
      out.position[2] = -2;
      for (let i = 0; i < 4; i++) out.quaternion[i] = interpolated.quaternion[i]!;
      return true;
    },
  };
  return new ShownPoses({ avatarId: AVATAR, entities }, interpolator, prediction);
}

it("predicted bodies are shown where their predictor has them, and other entities are not", () => {
  const poses = shown();
  let sampledMs = 0;
  poses.bodies = {
    sample: (nowMs) => {
      sampledMs = nowMs;
    },
    place: (id, pose) => {
      if (id !== BLOCK) return false;
      pose.position[1] = 5;
      pose.quaternion[1] = 1;
      pose.quaternion[3] = 0;
      return true;
    },
  };
  poses.sample(16);
  expect(sampledMs).toBe(16);
  const place = (id: EntityId): number[] => {
    const pose = createPose();
    expect(poses.pose(id, pose)).toBe(true);
    return [pose.x, pose.y, pose.z, pose.qy];
  };
  expect(place(AVATAR)).toEqual([AVATAR, 0, -2, 0]);
  expect(place(FLAG)).toEqual([FLAG, 0, -2, 0]);
  expect(place(BLOCK)).toEqual([BLOCK, 5, 0, 1]);
  expect(place(BALL)).toEqual([BALL, 0, 0, 0]);
  poses.bodies = undefined;
  poses.sample(32);
  expect(place(BLOCK)).toEqual([BLOCK, 0, 0, 0]);
});
