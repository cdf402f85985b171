import { Vector3 } from "three";
import { expect, it } from "vitest";
import { readCamera } from "../src/camera-rules.js";
import { type AvatarParts, LocalAvatar } from "../src/local-avatar.js";

it("watches_the_own_avatar_unless_the_camera_follows_another_entity", () => {
  const position = new Vector3(0, 1, 0);
  const watchedWith = (rules: unknown): Vector3 | undefined =>
    new LocalAvatar({
      view: { world: { avatarId: 1 } },
      scene: { crowd: { get: () => ({ position }) } },
      camera: { nearness: 5, rules: readCamera(rules) },
    } as unknown as AvatarParts).watchedPerson;
  expect(watchedWith(undefined)).toBe(position);
  expect(watchedWith({ mode: "follow", distance: 8 })).toBe(position);
  expect(watchedWith({ mode: "follow", on: 7 })).toBeUndefined();
});
