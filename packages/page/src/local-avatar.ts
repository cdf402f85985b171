import type { WorldView } from "@nowcast/three";
import { createPose, type Member, type WorldScene, wrapAngle, yawOf } from "@nowcast/three/internal";
import type { EntityId } from "nowcast/world";
import { Vector3 } from "three";
import type { OrbitCamera, Placed } from "./camera.js";
import type { Input, InputCollector } from "./input/input-collector.js";
import type { Actor } from "./targets.js";
import type { Headset } from "./xr/headset.js";

/** If the camera is nearer than this, the local avatar is not drawn, because it would fill the picture. */
const HIDE_NEARER_M = 1.15;
/** Height of the eyes above the centre of a person. */
const EYES_M = 0.62;
/** The camera's distance to the right of a person's head, and of a carrier's, whose thing would fill the picture. */
const [SHOULDER_M, CARRIER_SHOULDER_M] = [0.4, 0.8];
/** Speed of the camera for players without a body, in metres a second. */
const WATCHING_SPEED = 9;
const UNTURNED: Placed = { quaternion: [0, 0, 0, 1] };

/** The parts of a page that follow the local avatar. */
export interface AvatarParts {
  /** The current world; `undefined` while the page is in no world. */
  readonly view: WorldView | undefined;
  readonly scene: WorldScene;
  readonly camera: OrbitCamera;
  readonly inputs: InputCollector;
  /** The headset while the player wears one. */
  readonly headset: Headset | undefined;
}

/**
 * The local avatar as it is shown, and the camera that follows it. In each frame, `WorldControls` calls `sendInput`,
 * `World.frame`, `WorldView.place`, and `follow`.
 */
export class LocalAvatar {
  /** The camera's target for players without a body. */
  readonly watched = new Vector3(0, 1.5, 0);
  readonly #page: AvatarParts;
  readonly #pose = createPose();
  readonly #shown = createPose();
  readonly #input: Input = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
  /** The avatar to which the direction of the camera was set. */
  #faced: number | undefined;
  #yaw = 0;
  /** Whether the player has asked for no movement yet. */
  #isIdle = true;
  #carriedYaw = 0;

  constructor(page: AvatarParts) {
    this.#page = page;
  }

  /** The local player's body, if it is a walking player. */
  get member(): Member | undefined {
    const id = this.#page.view?.world.avatarId;
    return id === undefined ? undefined : this.#page.scene.crowd.get(id);
  }

  /** The shown entity that the local player's input moves: a walking player or another entity. */
  get actor(): Actor | undefined {
    const id = this.#page.view?.world.avatarId;
    return this.member ?? (id === undefined ? undefined : this.#page.scene.get(id));
  }

  /** Whether the world has shown where the avatar is. */
  get isShown(): boolean {
    const { view } = this.#page;
    const id = view?.world.avatarId;
    return id !== undefined && view?.world.pose(id, this.#shown) === true;
  }

  /** The middle of the walking avatar, while the camera follows it and does not fill its head. */
  get watchedPerson(): Vector3 | undefined {
    const { member, hidden } = this;
    const { nearness, rules } = this.#page.camera;
    const isFollowed = Number.isFinite(nearness) && rules?.on === undefined;
    return member && isFollowed && hidden === undefined ? member.position : undefined;
  }

  /** The avatar that would fill the picture, and is not drawn. */
  get hidden(): number | undefined {
    const { view, camera, headset } = this.#page;
    return headset !== undefined || camera.nearness < HIDE_NEARER_M ? view?.world.avatarId : undefined;
  }

  /** Sets the camera to the direction of the avatar again, as soon as the avatar exists. */
  forget(): void {
    this.#faced = undefined;
    this.#isIdle = true;
  }

  /** Sends the current input, if the camera's direction was set to the avatar's. */
  sendInput(): void {
    const { view, inputs, camera, headset } = this.#page;
    if (view?.world.status !== "open" || view.world.avatarId !== this.#faced) return;
    Object.assign(this.#input, inputs.combine());
    const { forward, right, jump } = this.#input;
    // An avatar that has not arrived yet keeps the direction in which the world places it.
    this.#isIdle &&= forward === 0 && right === 0 && !jump;
    if (view.world.avatarId === undefined && this.#isIdle) return;
    this.#input.yaw = camera.yaw;
    headset?.updateInput(this.#input);
    view.world.input(this.#input);
  }

  /** Moves the camera, or the room of a headset, to the pose of the avatar in this frame. */
  follow(seconds: number, view: WorldView): void {
    const { camera, headset, scene } = this.#page;
    const id = view.world.avatarId;
    if (id === undefined || !view.world.pose(id, this.#pose)) {
      if (id === undefined) this.#fly(seconds);
      const { x, y, z } = this.watched;
      if (headset) return headset.move(seconds, this.watched);
      if (this.#show(seconds, view)) return;
      return camera.follow(seconds, x, y, z, scene.obstacles, undefined);
    }
    const { position } = this.#pose;
    const { x, y, z } = this.watched.copy(position);
    const { member } = this;
    if (this.#faced !== id) this.#faceWith(id, view);
    else this.#turn(view.world.display.carriedYaw - this.#carriedYaw);
    this.#carriedYaw = view.world.display.carriedYaw;
    const driven = member ? undefined : scene.get(id);
    if (driven) this.#turnWith(yawOf(this.#pose.quaternion));
    if (headset) return headset.move(seconds, this.actor?.position ?? position);
    if (this.#show(seconds, view)) return;
    const eyes = member ? EYES_M * member.size : (driven?.halfHeight ?? 0);
    camera.shoulder = shoulderOf(member);
    camera.follow(seconds, x, y + eyes, z, scene.obstacles, member?.body.holding ?? id);
  }

  /** Shows the entity or the place that the world's camera shows; returns false if that is the local avatar. */
  #show(seconds: number, view: WorldView): boolean {
    const { camera, scene } = this.#page;
    const { rules } = camera;
    if (rules === undefined || rules.mode === "first_person") return false;
    const { on } = rules;
    if (on !== undefined && view.world.pose(on as EntityId, this.#shown)) {
      const { x, y, z } = this.#shown.position;
      const top = scene.get(on)?.halfHeight ?? scene.crowd.get(on)?.halfHeight ?? 0;
      camera.follow(seconds, x, y + top, z, scene.obstacles, on);
      return true;
    }
    if (rules.mode !== "fixed" && rules.mode !== "rail") return false;
    const { x, y, z } = this.watched;
    camera.follow(seconds, x, y, z, scene.obstacles, undefined);
    return true;
  }

  #faceWith(id: number, { world }: WorldView): void {
    const { camera, headset } = this.#page;
    this.#faced = id;
    this.#yaw = yawOf(this.#pose.quaternion);
    camera.faceEntity(world.avatar ?? UNTURNED);
    camera.jump();
    headset?.faceWith(camera.yaw);
  }

  /** The camera of a driver turns with the vehicle. */
  #turnWith(yaw: number): void {
    this.#turn(wrapAngle(yaw - this.#yaw));
    this.#yaw = yaw;
  }

  #turn(radians: number): void {
    if (radians === 0) return;
    const { camera, headset } = this.#page;
    if (headset) headset.turnWith(radians);
    else camera.turn(radians, 0);
  }

  /** The input of players without an avatar moves the camera's target. */
  #fly(seconds: number): void {
    const { camera, inputs } = this.#page;
    const { forward, right, run } = inputs.combine();
    const metres = WATCHING_SPEED * (run ? 2 : 1) * seconds;
    const [sin, cos] = [Math.sin(camera.yaw), Math.cos(camera.yaw)];
    this.watched.x += (right * cos - forward * sin) * metres;
    this.watched.z += (-right * sin - forward * cos) * metres;
  }
}

function shoulderOf(member: Member | undefined): number {
  if (member === undefined) return 0;
  return member.body.holding === undefined ? SHOULDER_M : CARRIER_SHOULDER_M;
}
