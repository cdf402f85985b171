import { PerspectiveCamera, Vector3 } from "three";
import { describe, expect, it, vi } from "vitest";
import { ease, wrapAngle } from "../../three/src/angle.js";
import { type DrawnKind, describeBody } from "../../three/src/look/body.js";
import { createPose, yawOf } from "../../three/src/pose.js";
import { Obstacles } from "../../three/src/scene/obstacles.js";
import { createProp } from "../../three/src/scene/prop.js";
import { armDirection, fovOf, nextDistance, OrbitCamera } from "../src/camera.js";
import { readCamera } from "../src/camera-rules.js";

describe("the camera's arm", () => {
  it("reaches behind an avatar that faces −Z", () => {
    const arm = armDirection(0, 0, new Vector3());
    expect(arm.toArray().map((v) => Math.round(v * 1e6) / 1e6)).toEqual([0, 0, 1]);
  });

  it("reaches to +X when yaw has turned a quarter counter-clockwise, facing −X", () => {
    const arm = armDirection(Math.PI / 2, 0, new Vector3());
    expect(arm.x).toBeCloseTo(1);
    expect(arm.z).toBeCloseTo(0);
  });

  it("goes up when looking down, and stays of unit length", () => {
    const arm = armDirection(1.2, 0.7, new Vector3());
    expect(arm.y).toBeCloseTo(Math.sin(0.7));
    expect(arm.length()).toBeCloseTo(1);
  });
});

describe("the camera over the shoulder", () => {
  const FRAME_S = 1 / 60;
  /** A wall of 1 m thickness along Z that ends at z = 0, `x` metres beside the way of the avatar. */
  function wallAt(x: number, opacity = 1): Obstacles {
    const facts: DrawnKind = {
      name: "wall",
      body: { motion: "fixed", shape: "box", size: [1, 4, 20] },
      walker: undefined,
      look: { opacity },
    };
    const body = describeBody({ id: 1, kind: facts, scale: [1, 1, 1], parent: undefined, attributes: {} });
    const obstacles = new Obstacles();
    const pose = createPose(x + 0.5, 1, 10);
    obstacles.add(createProp(body, { shape: "box", size: [1, 4, 20] }, pose));
    return obstacles;
  }

  it("moves_beside_a_carrier_without_a_jump_and_never_enters_a_wall", () => {
    const camera = new PerspectiveCamera();
    const orbit = new OrbitCamera(camera);
    const obstacles = wallAt(0.6);
    const before = new Vector3();
    let [largest, beside] = [0, 0];
    for (let frame = 0; frame < 600; frame++) {
      orbit.shoulder = frame > 60 ? 0.8 : 0;
      // The carrier walks ahead at 4 m a second, out of the way beside the wall, with the camera behind it.
      const z = 8 - Math.max(0, frame - 180) * 4 * FRAME_S;
      orbit.follow(FRAME_S, 0, 1.6, z, obstacles, undefined);
      const { x, y } = camera.position;
      const isInWall = x > 0.6 && x < 1.6 && y < 3 && camera.position.z > 0;
      expect(isInWall, `frame ${frame} at ${camera.position.toArray()}`).toBe(false);
      // Sideways, the camera only glides. Behind an obstacle it comes nearer at once.
      if (frame > 0) largest = Math.max(largest, Math.abs(x - before.x));
      before.copy(camera.position);
      beside = Math.max(beside, x);
    }
    expect(beside, "metres beside the head at the end").toBeGreaterThan(0.6);
    expect(largest, "metres sideways a frame").toBeLessThan(0.15);
  });

  it("rises_over_a_low_wall_close_behind_the_avatar_and_comes_down_in_the_open", () => {
    const camera = new PerspectiveCamera();
    const orbit = new OrbitCamera(camera);
    orbit.yaw = Math.PI / 2;
    const wall = wallAt(0.5);
    for (let frame = 0; frame < 120; frame++) orbit.follow(FRAME_S, 0, 2.2, 10, wall, undefined);
    expect(orbit.nearness).toBeGreaterThan(1.6);
    expect(camera.position.y).toBeGreaterThan(3.2);
    expect(orbit.pitch, "the direction in which the player looks").toBe(0.2);
    for (let frame = 0; frame < 120; frame++) orbit.follow(FRAME_S, 0, 2.2, 10, new Obstacles(), undefined);
    expect(orbit.nearness).toBeGreaterThan(4.5);
    expect(camera.position.y).toBeLessThan(3.3);
  });

  /** A roof close above the head, before a wall close behind the avatar. */
  function cellAround(): Obstacles {
    const facts: DrawnKind = {
      name: "roof",
      body: { motion: "fixed", shape: "box", size: [6, 1, 40] },
      walker: undefined,
      look: {},
    };
    const cell = wallAt(0.5);
    const roof = describeBody({ id: 2, kind: facts, scale: [1, 1, 1], parent: undefined, attributes: {} });
    cell.add(createProp(roof, { shape: "box", size: [6, 1, 40] }, createPose(0, 2.6, 10)));
    return cell;
  }

  it("looks_down_from_above_on_an_avatar_that_blocks_enclose_and_returns_in_the_open", () => {
    const camera = new PerspectiveCamera();
    const orbit = new OrbitCamera(camera);
    const cell = cellAround();
    orbit.yaw = Math.PI / 2;
    for (let frame = 0; frame < 120; frame++) orbit.follow(FRAME_S, 0, 1.6, 10, cell, undefined);
    expect(orbit.nearness).toBeGreaterThan(4);
    expect(camera.position.y, "above the roof").toBeGreaterThan(3.1);
    for (let frame = 0; frame < 120; frame++) orbit.follow(FRAME_S, 0, 1.6, 10, new Obstacles(), undefined);
    expect(camera.position.y).toBeLessThan(2.8);
  });

  it("moves_without_jumps_while_the_player_looks_up_and_down_beside_a_wall_or_under_a_roof", () => {
    for (const [place, height, obstacles] of [
      ["wall", 2.2, wallAt(0.5)],
      ["roof", 1.6, cellAround()],
    ] as const) {
      const camera = new PerspectiveCamera();
      const orbit = new OrbitCamera(camera);
      orbit.yaw = Math.PI / 2;
      for (let frame = 0; frame < 120; frame++) orbit.follow(FRAME_S, 0, height, 10, obstacles, undefined);
      const [before, at] = [camera.quaternion.clone(), camera.position.clone()];
      let [radians, metres] = [0, 0];
      for (let frame = 0; frame < 200; frame++) {
        orbit.turn(0, frame < 100 ? -0.006 : 0.006);
        orbit.follow(FRAME_S, 0, height, 10, obstacles, undefined);
        radians = Math.max(radians, camera.quaternion.angleTo(before));
        metres = Math.max(metres, camera.position.distanceTo(at));
        before.copy(camera.quaternion);
        at.copy(camera.position);
      }
      expect(radians, `${place}: radians a frame`).toBeLessThan(0.04);
      // Behind the wall, the camera comes nearer at once.
      if (place === "roof") expect(metres, "metres a frame").toBeLessThan(0.3);
    }
  });

  it("casts_no_ray_twice_in_a_frame", () => {
    const raysBeside = (obstacles: Obstacles): number => {
      const orbit = new OrbitCamera(new PerspectiveCamera());
      orbit.yaw = Math.PI / 2;
      for (let frame = 0; frame < 120; frame++) orbit.follow(FRAME_S, 0, 2.2, 10, obstacles, undefined);
      const cast = vi.spyOn(obstacles, "cast");
      orbit.follow(FRAME_S, 0, 2.2, 10, obstacles, undefined);
      return cast.mock.calls.length;
    };
    expect(raysBeside(new Obstacles())).toBe(1);
    expect(raysBeside(wallAt(0.5)), "one ray for each angle").toBe(5);
  });

  it("stays_at_its_distance_behind_glass_and_comes_nearer_before_a_wall", () => {
    const distanceBefore = (opacity: number): number => {
      const orbit = new OrbitCamera(new PerspectiveCamera());
      orbit.yaw = Math.PI / 2;
      orbit.follow(FRAME_S, 0, 1.6, 10, wallAt(2, opacity), undefined);
      return orbit.nearness;
    };
    expect(distanceBefore(0.12)).toBeGreaterThan(4);
    expect(distanceBefore(1)).toBeLessThan(2.2);
  });
});

describe("the camera of an upright phone", () => {
  const [PHONE, DESKTOP] = [390 / 844, 16 / 9];
  /** The place of a point in the picture, from −1 at its left to 1 at its right, with a camera behind an avatar at 0. */
  function across(aspect: number, x: number, z: number): number {
    const camera = new PerspectiveCamera(fovOf(aspect), aspect, 0.1, 100);
    const orbit = new OrbitCamera(camera);
    orbit.follow(1 / 60, 0, 1.6, 0, new Obstacles(), undefined);
    camera.updateMatrixWorld();
    return new Vector3(x, 1, z).project(camera).x;
  }

  it("shows_a_thing_four_metres_ahead_and_three_aside_as_a_desktop_does", () => {
    for (const side of [-3, 3]) {
      expect(Math.abs(across(PHONE, side, -4))).toBeLessThan(0.85);
      expect(Math.abs(across(DESKTOP, side, -4))).toBeLessThan(0.85);
    }
  });

  it("widens_without_a_step_as_the_picture_becomes_narrower", () => {
    expect(fovOf(DESKTOP)).toBe(fovOf(1.2));
    for (let aspect = 0.3; aspect < 2; aspect += 0.01) {
      const change = fovOf(aspect) - fovOf(aspect + 0.01);
      expect(change).toBeGreaterThanOrEqual(0);
      expect(change).toBeLessThan(2);
    }
  });
});

describe("nextDistance", () => {
  it("comes in at once when a block is in the way", () => {
    expect(nextDistance(6, 6, 2, 1 / 60)).toBe(2);
  });

  it("glides out again when the way is free, without overshooting", () => {
    let distance = 2;
    for (let frame = 0; frame < 600; frame++) {
      const next = nextDistance(distance, 6, Number.POSITIVE_INFINITY, 1 / 60);
      expect(next).toBeGreaterThanOrEqual(distance);
      expect(next).toBeLessThanOrEqual(6);
      distance = next;
    }
    expect(distance).toBeCloseTo(6, 3);
    // After a second it has covered almost all of the way, and not much of it in one frame.
    expect(nextDistance(2, 6, Number.POSITIVE_INFINITY, 1)).toBeGreaterThan(5.9);
    expect(nextDistance(2, 6, Number.POSITIVE_INFINITY, 1 / 60)).toBeLessThan(2.5);
  });

  it("glides in when the person zooms in", () => {
    const next = nextDistance(8, 4, Number.POSITIVE_INFINITY, 1 / 60);
    expect(next).toBeLessThan(7.9);
    expect(next).toBeGreaterThan(6);
    let distance = 8;
    for (let frame = 0; frame < 60; frame++)
      distance = nextDistance(distance, 4, Number.POSITIVE_INFINITY, 1 / 60);
    expect(distance).toBeCloseTo(4, 3);
  });
});

describe("ease", () => {
  it("covers the same ground in a second at 20 frames as at 120", () => {
    const after = (frames: number) => {
      let left = 1;
      for (let i = 0; i < frames; i++) left *= 1 - ease(5, 1 / frames);
      return left;
    };
    expect(after(20)).toBeCloseTo(Math.exp(-5), 9);
    expect(after(120)).toBeCloseTo(Math.exp(-5), 9);
  });
});

describe("angles", () => {
  it("wrap into one turn", () => {
    expect(wrapAngle(2 * Math.PI + 1)).toBeCloseTo(1);
    expect(wrapAngle(-0.5)).toBeCloseTo(-0.5);
    expect(Math.abs(wrapAngle(123456.7))).toBeLessThanOrEqual(Math.PI + 1e-9);
  });

  it("come back from a quaternion about Y", () => {
    for (const yaw of [-3, -1.2, 0, 0.4, 2.9]) {
      expect(yawOf(createPose(0, 0, 0, yaw).quaternion)).toBeCloseTo(yaw);
    }
  });
});

describe("the camera that a world sets", () => {
  const FRAME_S = 1 / 60;
  const setUp = () => {
    const camera = new PerspectiveCamera(55, 1, 0.1, 100);
    const orbit = new OrbitCamera(camera);
    const frame = (seconds = FRAME_S) => orbit.follow(seconds, 0, 1.6, 0, new Obstacles(), undefined);
    frame();
    return { camera, orbit, frame };
  };

  it("sees with the eyes of the avatar, and returns", () => {
    const { camera, orbit, frame } = setUp();
    orbit.setRules(readCamera({ mode: "first_person", fov: 80 }));
    orbit.turn(0, 3);
    frame();
    expect(camera.position.toArray()).toEqual([0, 1.6, 0]);
    expect(camera.fov).toBe(80);
    expect(camera.getWorldDirection(new Vector3()).y).toBeLessThan(-0.99);
    expect(orbit.nearness).toBe(0);
    orbit.setRules(undefined);
    for (let at = 0; at < 120; at++) frame();
    expect(camera.fov).toBe(55);
    expect(camera.position.distanceTo(new Vector3(0, 1.6, 0))).toBeGreaterThan(3);
  });

  it("limits the distance that the wheel chooses", () => {
    const { orbit } = setUp();
    orbit.setRules(readCamera({ distance: 20, min: 10, max: 30 }));
    expect(orbit.distance).toBe(20);
    orbit.zoom(10);
    expect(orbit.distance).toBe(30);
    orbit.zoom(0.01);
    expect(orbit.distance).toBe(10);
    orbit.setRules(undefined);
    orbit.zoom(0.01);
    expect(orbit.distance).toBeLessThan(2);
  });

  it("glides to a fixed place, and looks at its target there", () => {
    const { camera, orbit, frame } = setUp();
    const start = camera.position.clone();
    orbit.setRules(readCamera({ mode: "fixed", at: [0, 10, 20], look_at: [0, 0, 0], seconds: 2 }));
    frame();
    expect(camera.position.distanceTo(start)).toBeLessThan(0.1);
    for (let at = 0; at < 130; at++) frame();
    expect(camera.position.toArray()).toEqual([0, 10, 20]);
    const aim = new Vector3(0, -10, -20).normalize();
    expect(camera.getWorldDirection(new Vector3()).distanceTo(aim)).toBeLessThan(1e-6);
  });

  it("runs on its rail beside the avatar, and looks at it", () => {
    const { camera, orbit } = setUp();
    const rail = [
      [10, 3, 0],
      [10, 3, -20],
      [0, 3, -20],
    ];
    orbit.setRules(readCamera({ mode: "rail", rail }));
    const nothing = new Obstacles();
    const follow = (x: number, z: number, frames: number): void => {
      for (let at = 0; at < frames; at++) orbit.follow(1 / 60, x, 1.5, z, nothing, undefined);
    };
    follow(0, -5, 1);
    expect(camera.position.distanceTo(new Vector3(10, 3, -5))).toBeLessThan(1e-6);
    const aim = new Vector3(-10, -1.5, 0).normalize();
    expect(camera.getWorldDirection(new Vector3()).distanceTo(aim)).toBeLessThan(1e-6);
    // The camera passes the corner, and is not before the start of the rail.
    follow(2, -30, 120);
    expect(camera.position.distanceTo(new Vector3(2, 3, -20))).toBeLessThan(0.01);
    follow(0, 50, 120);
    expect(camera.position.distanceTo(new Vector3(10, 3, 0))).toBeLessThan(0.01);
    orbit.setRules(undefined);
    follow(0, 50, 1);
    expect(camera.position.distanceTo(new Vector3(0, 1.5, 50))).toBeLessThan(16);
    for (const odd of [undefined, [[0, 0, 0]], [[0, 0, 0], "there"], new Array(33).fill([0, 0, 0])]) {
      expect(readCamera({ mode: "rail", rail: odd })).toMatchObject({ mode: "follow", rail: undefined });
    }
  });

  it("shakes for its time, and then stands still", () => {
    const { camera, orbit, frame } = setUp();
    const still = camera.quaternion.clone();
    orbit.shake({ strength: 1, seconds: 0.5 });
    frame();
    expect(camera.quaternion.angleTo(still)).toBeGreaterThan(0.001);
    for (let at = 0; at < 60; at++) frame();
    expect(camera.quaternion.angleTo(still)).toBeLessThan(1e-3);
  });

  it("passes over fields of other types", () => {
    expect(readCamera(undefined)).toBeUndefined();
    const odd = readCamera({ mode: "fixed", fov: 500, min: "near", on: "me" });
    expect(odd).toMatchObject({ mode: "follow", fov: undefined, min: undefined, on: undefined, seconds: 0 });
  });
});
