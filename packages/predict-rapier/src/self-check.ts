import { BodyPredictionError } from "./errors.js";
import type { Rapier } from "./rapier.js";

/** The result of the test scene with Rapier 0.36 in its deterministic build, as on the server. */
export const SCENE_HASH = 0x61ca2ca2;

const STEPS = 120;
const BOXES = 6;

/** Rejects a Rapier whose results differ from the version for which this package was made. */
export function checkArithmetic(rapier: Rapier, expected = SCENE_HASH): void {
  const found = hashScene(rapier);
  if (found === expected) return;
  const hex = (hash: number) => `0x${hash.toString(16).padStart(8, "0")}`;
  throw new BodyPredictionError(
    "other_arithmetic",
    `this Rapier (${rapier.version()}) comes to ${hex(found)} instead of ${hex(expected)}: install the release that this package names`,
  );
}

/**
 * Lets boxes, a ball and a person fall on each other for two seconds. Returns FNV-1a over the bits of all
 * poses.
 */
export function hashScene(rapier: Rapier): number {
  const { RigidBodyDesc, ColliderDesc } = rapier;
  const world = new rapier.World({ x: 0, y: -9.81, z: 0 });
  try {
    world.createCollider(ColliderDesc.cuboid(20, 0.5, 20).setTranslation(0, -0.5, 0).setFriction(1));
    for (let at = 0; at < BOXES; at++) {
      const angle = 0.3 * at;
      const body = world.createRigidBody(
        RigidBodyDesc.dynamic()
          .setTranslation(0.2 * at, 0.7 + 1.1 * at, 0.1 * at)
          .setRotation({ x: 0, y: Math.fround(0.1 * angle), z: 0, w: 1 })
          .setAngvel({ x: angle, y: -angle, z: 1 }),
      );
      world.createCollider(ColliderDesc.cuboid(0.5, 0.4, 0.3).setDensity(60).setFriction(0.8), body);
    }
    const ball = world.createRigidBody(
      RigidBodyDesc.dynamic().setTranslation(-6, 1, 0).setLinvel(8, 2, 0.25),
    );
    world.createCollider(ColliderDesc.ball(0.4).setMass(20).setRestitution(0.6), ball);
    const person = world.createRigidBody(
      RigidBodyDesc.dynamic().setTranslation(2.5, 0.9, 0).setLinvel(-3.2, 0, 0).lockRotations(),
    );
    world.createCollider(ColliderDesc.capsule(0.55, 0.35).setMass(70).setFriction(0), person);
    for (let step = 0; step < STEPS; step++) world.step();
    const words = new Uint32Array(1);
    const number = new Float32Array(words.buffer);
    let hash = 0x811c9dc5;
    const mix = (value: number) => {
      number[0] = value;
      hash = Math.imul(hash ^ words[0]!, 16_777_619) >>> 0;
    };
    world.forEachRigidBody((body) => {
      const [place, turn, speed, spin] = [body.translation(), body.rotation(), body.linvel(), body.angvel()];
      for (const { x, y, z } of [place, speed, spin]) for (const part of [x, y, z]) mix(part);
      for (const part of [turn.x, turn.y, turn.z, turn.w]) mix(part);
    });
    return hash;
  } finally {
    world.free();
  }
}
