/** Outfits, gestures and faces of people. */
import { type InstancedMesh, Matrix4 } from "three";
import { describe, expect, it } from "vitest";
import { type DrawnKind, describeBody, isShown } from "../src/look/body.js";
import { Crowd } from "../src/people/crowd.js";
import { EMOTES, emoteOf, emoteSeconds, packEmote, poseEmote } from "../src/people/emotes.js";
import { poseFace } from "../src/people/face.js";
import { createJointAngles } from "../src/people/gait.js";
import {
  createOutfit,
  OUTFIT_CHOICES,
  type OutfitPart,
  packOutfit,
  readOutfit,
} from "../src/people/outfit.js";
import { createPose } from "../src/pose.js";
import { Obstacles } from "../src/scene/obstacles.js";
import { createProp } from "../src/scene/prop.js";
import { WorldView } from "../src/world-view.js";

const MATRIX = new Matrix4();
const PARTS = Object.keys(OUTFIT_CHOICES) as OutfitPart[];

describe("an outfit", () => {
  it("keeps_every_choice_in_32_bits", () => {
    expect(PARTS.length).toBe(6);
    for (const part of PARTS) {
      for (let choice = 0; choice <= OUTFIT_CHOICES[part].length; choice++) {
        const outfit = { ...readOutfit(0), [part]: choice };
        const packed = packOutfit(outfit);
        expect(packed).toBeLessThan(2 ** 32);
        expect(readOutfit(packed)).toEqual(outfit);
      }
    }
  });

  it("treats_unknown_choices_as_not_chosen", () => {
    expect(readOutfit(0xffff_ffff)).toEqual(readOutfit(0));
  });

  it("colours_the_chosen_parts_and_leaves_the_others", () => {
    const before = createOutfit(5, 0x2e86ab);
    const after = createOutfit(5, 0x2e86ab, packOutfit({ ...readOutfit(0), hair: 6 }));
    expect(after.hair.getHexString()).toBe(OUTFIT_CHOICES.hair[5].slice(1));
    expect(after.skin.equals(before.skin)).toBe(true);
    expect(after.shirt.equals(before.shirt)).toBe(true);
  });
});

it("a player keeps the clothes when the world gives the player another avatar", () => {
  const crowd = new Crowd();
  const kind: DrawnKind = { name: "person", walker: {}, body: undefined, look: undefined };
  const clothesOf = (id: number, player: number) => {
    const entity = { id, kind, attributes: {}, scale: [1, 1, 1], parent: undefined } as const;
    crowd.add(describeBody(entity, player), createPose());
    return [crowd.colorOf(id), crowd.skinOf(player, id).getHex()];
  };
  const avatars = [4, 5, 6, 7, 8].map((id) => clothesOf(id, 2));
  expect(new Set(avatars.map(String)).size).toBe(1);
  const players = [1, 2, 3, 4, 5].map((player) => clothesOf(9, player));
  expect(new Set(players.map(String)).size).toBeGreaterThan(1);
  crowd.dispose();
});

it("the hands of a driver and of a player without an avatar have the skin of the player", () => {
  const crowd = new Crowd();
  const kind: DrawnKind = { name: "kart", walker: undefined, body: { shape: "box" }, look: undefined };
  const skins = [1, 2, 3, 4, 5].map((player) => {
    const entity = {
      id: 9,
      kind,
      attributes: { driver: player },
      scale: [1, 1, 1],
      parent: undefined,
    } as const;
    crowd.seat(describeBody(entity, player), createPose(), 0.4);
    const skin = crowd.skinOf(player, 9);
    expect(skin.getHex()).toBe(createOutfit(player, 0).skin.getHex());
    expect(crowd.skinOf(player, undefined).getHex()).toBe(skin.getHex());
    return skin.getHex();
  });
  expect(new Set(skins).size).toBeGreaterThan(1);
  crowd.dispose();
});

it("an entity changes its clothes as soon as its player leaves it, and keeps those of the next player", () => {
  const listeners = new Map<string, (event: object) => void>();
  const kind = { name: "person", walker: {}, body: undefined, look: undefined };
  const at = { position: [0, 0, 0], quaternion: [0, 0, 0, 1], scale: [1, 1, 1], parent: undefined };
  const entities = new Map([9, 10].map((id) => [id, { ...at, id, kind, attributes: {} }]));
  const world = { serverUrl: "http://localhost", definition: undefined, players: new Map(), entities };
  const on = (type: string, listener: (event: object) => void): (() => void) => {
    listeners.set(type, listener);
    return () => undefined;
  };
  const { scene } = new WorldView({ ...world, on } as never);
  const send = (type: string, id: number, avatarId?: number): void =>
    listeners.get(type)!({ player: { id, name: `Player ${id}`, avatarId } });
  const players = (): (number | undefined)[] => [9, 10].map((id) => scene.crowd.get(id)!.body.player);
  send("joined", 1, 9);
  expect(players()).toEqual([1, undefined]);
  send("avatar", 1, 10);
  expect(players()).toEqual([undefined, 1]);
  send("joined", 2, 10);
  send("left", 1);
  expect(players()).toEqual([undefined, 2]);
  send("renamed", 2, 10);
  expect(players()).toEqual([undefined, 2]);
  scene.dispose();
});

describe("the contact with the ground", () => {
  it("darkens_below_standing_feet_and_not_below_a_jump_or_a_hidden_body", () => {
    const crowd = new Crowd();
    const kind: DrawnKind = { name: "person", walker: {}, body: undefined, look: undefined };
    const add = (id: number, y: number) =>
      crowd.add(
        describeBody({ id, kind, attributes: {}, scale: [1, 1, 1], parent: undefined }),
        createPose(0, y),
      );
    for (const id of [1, 2, 3]) add(id, 0.9);
    crowd.get(2)!.motion.air = 1;
    crowd.update(0, new Obstacles(), 3);
    const disc = crowd.group.children.find((mesh) => mesh.renderOrder === 2) as InstancedMesh;
    const placed = [0, 1, 2].map((at) => {
      disc.getMatrixAt(at, MATRIX);
      return [MATRIX.elements[0], MATRIX.elements[13]] as const;
    });
    expect(disc.count).toBe(3);
    expect(placed.map(([width]) => width)).toEqual([1, 0, 0]);
    expect(placed[0]![1]).toBeCloseTo(0.025, 3);
    crowd.dispose();
  });
});

describe("a gesture", () => {
  it("has_another_attribute_each_time_and_keeps_its_name", () => {
    for (const emote of EMOTES) {
      const attributes = [1, 2, 4095, 4096].map((count) => packEmote(emote, count));
      expect(new Set(attributes).size).toBe(4);
      for (const attribute of attributes) {
        expect(attribute).toBeLessThan(65_536);
        expect(emoteOf(attribute)).toBe(emote);
      }
    }
    expect(emoteOf(0)).toBeUndefined();
    expect(emoteOf(15)).toBeUndefined();
  });

  it("moves_the_body_and_begins_and_ends_without_a_jump", () => {
    for (const emote of EMOTES) {
      let [previous, largest, moved] = [createJointAngles(), 0, 0];
      for (let seconds = 0; seconds <= emoteSeconds(emote) + 0.05; seconds += 1 / 60) {
        const pose = createJointAngles();
        poseEmote(emote, seconds, 1, pose);
        for (const joint of Object.keys(pose) as (keyof typeof pose)[]) {
          largest = Math.max(largest, Math.abs(pose[joint] - previous[joint]));
          moved = Math.max(moved, Math.abs(pose[joint]));
        }
        previous = pose;
      }
      expect(moved, emote).toBeGreaterThan(0.2);
      expect(largest, `${emote}: radians a frame`).toBeLessThan(0.35);
      expect(previous, emote).toEqual(createJointAngles());
    }
  });
});

describe("a face", () => {
  const poseAt = (seconds: number, turning: number, isSpeaking = false) => {
    const face = { open: 1, eyesX: 0, eyesY: 0, mouth: 0 };
    poseFace(seconds, turning, 1, isSpeaking, face);
    return face;
  };

  it("blinks_now_and_then", () => {
    const frames = Array.from({ length: 600 }, (_, frame) => poseAt(frame / 60, 0).open);
    const closed = frames.filter((open) => open < 0.5).length;
    expect(closed).toBeGreaterThan(3);
    expect(closed).toBeLessThan(60);
  });

  it("looks_where_the_body_turns", () => {
    expect(poseAt(1, 2).eyesX).toBeLessThan(0);
    expect(poseAt(1, -2).eyesX).toBeGreaterThan(0);
    expect(poseAt(1, 0).eyesX).toBe(0);
  });

  it("moves_the_mouth_only_while_speaking", () => {
    expect(poseAt(1, 0).mouth).toBe(0);
    expect(poseAt(1, 0, true).mouth).toBeGreaterThan(0.3);
  });
});

describe("a driver", () => {
  const kart: DrawnKind = {
    name: "kart",
    body: { shape: "box", size: [1.2, 0.6, 2], motion: "dynamic" },
    walker: undefined,
    look: undefined,
  };
  const vehicle = (attributes: Record<string, unknown>) =>
    describeBody({ id: 4, kind: kart, scale: [1, 1, 1], parent: undefined, attributes });
  const pose = createPose(2, 0.3, 1);

  it("sits_on_its_vehicle_while_it_drives_and_is_no_person_on_foot", () => {
    const crowd = new Crowd();
    const body = vehicle({ driver: 3 });
    expect(body.driver).toBe(3);
    crowd.seat(body, pose, 0.3);
    const [driver] = crowd.members;
    expect(crowd.members.length).toBe(1);
    expect(crowd.get(4), "the vehicle is not a walker").toBeUndefined();
    expect([driver!.position.x, driver!.position.z]).toEqual([2, 1]);
    expect(driver!.position.y).toBeGreaterThan(0.4);
    crowd.place(4, createPose(5, 0.3, 1));
    expect(driver!.position.x).toBe(5);
    crowd.update(1 / 60, new Obstacles(), undefined);
    crowd.remove(4);
    expect(crowd.members.length).toBe(0);
    crowd.dispose();
  });

  it("is_absent_from_an_empty_vehicle", () => {
    expect(vehicle({ driver: null }).driver).toBeUndefined();
    expect(isShown(["driver"])).toBe(true);
  });
});

it("a passenger who stands on a moving boat does not run, and one who walks on it walks", () => {
  const [crowd, obstacles] = [new Crowd(), new Obstacles()];
  const boatKind: DrawnKind = {
    name: "boat",
    body: { motion: "kinematic", shape: "box", size: [8, 0.5, 3] },
    walker: undefined,
    look: undefined,
  };
  const describe = (id: number, kind: DrawnKind) =>
    describeBody({ id, kind, scale: [1, 1, 1], parent: undefined, attributes: {} });
  const boat = createProp(describe(1, boatKind), { shape: "box", size: [8, 0.5, 3] }, createPose(0, 1));
  obstacles.add(boat);
  const person: DrawnKind = { name: "person", body: undefined, walker: {}, look: undefined };
  for (const id of [2, 3]) crowd.add(describe(id, person), createPose());
  const [stands, walks] = [crowd.get(2)!, crowd.get(3)!];
  for (let frame = 0; frame < 120; frame++) {
    const x = (frame / 60) * 5;
    boat.position.x = x;
    const y = 1.25 + stands.halfHeight;
    crowd.place(2, createPose(x, y));
    crowd.place(3, createPose(x - 2 + frame / 60, y));
    crowd.update(1 / 60, obstacles, undefined);
  }
  expect(stands.motion.speed).toBeLessThan(0.1);
  expect(walks.motion.speed).toBeCloseTo(1, 1);
  boat.position.y = -9;
  crowd.place(2, createPose(10, 1.25 + stands.halfHeight));
  for (let frame = 0; frame < 60; frame++) {
    crowd.place(2, createPose(10 + (frame / 60) * 5, 1.25 + stands.halfHeight));
    crowd.update(1 / 60, obstacles, undefined);
  }
  expect(stands.motion.speed, "without a boat").toBeGreaterThan(4);
  crowd.dispose();
});

it("a person whom the rules put elsewhere does not run there, however near the place is", () => {
  const crowd = new Crowd();
  const person: DrawnKind = { name: "person", body: undefined, walker: {}, look: undefined };
  const speedAfter = (hasJumped: boolean): number => {
    const body = { id: 2, kind: person, scale: [1, 1, 1], parent: undefined, attributes: {} } as const;
    crowd.add(describeBody(body), createPose());
    crowd.update(1 / 60, new Obstacles(), undefined);
    crowd.place(2, createPose(1), hasJumped);
    crowd.update(1 / 60, new Obstacles(), undefined);
    const { speed } = crowd.get(2)!.motion;
    crowd.remove(2);
    return speed;
  };
  expect(speedAfter(false)).toBeGreaterThan(4);
  expect(speedAfter(true)).toBe(0);
  crowd.dispose();
});
