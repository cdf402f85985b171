import type { Actor, Input, InputCollector, OrbitCamera, Placed } from "@nowcast/page";
import type { Headset } from "@nowcast/page/headset";
import { createPose, type Member, type WorldScene, wrapAngle, yawOf } from "@nowcast/three";
import { Vector3 } from "three";
import type { WorldConnection } from "../world-connection.js";

/** If the camera is nearer than this, the local avatar is not drawn, because it would fill the picture. */
const HIDE_NEARER_M = 1.15;
/** Height of the eyes above the centre of a person. */
const EYES_M = 0.62;
/** Speed of the camera for players without a body, in metres a second. */
const WATCHING_SPEED = 9;
const UNTURNED: Placed = { rotation: [0, 0, 0, 1] };

/** The parts of the page that follow the local avatar. */
export interface AvatarParts {
  readonly connection: WorldConnection | undefined;
  readonly scene: WorldScene;
  readonly camera: OrbitCamera;
  readonly inputs: InputCollector;
  readonly headset: Headset | undefined;
}

/** The local avatar as it is shown, and the camera that follows it. */
export class OwnAvatar {
  /** The camera's target for players without a body. */
  readonly watched = new Vector3(0, 1.5, 0);
  readonly #page: AvatarParts;
  readonly #pose = createPose();
  readonly #input: Input = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
  /** The avatar to which the direction of the camera was set. */
  #faced: number | undefined;
  #yaw = 0;

  constructor(page: AvatarParts) {
    this.#page = page;
  }

  /** The local player's body, if it is a walking player. */
  get member(): Member | undefined {
    const id = this.#page.connection?.avatar;
    return id === undefined ? undefined : this.#page.scene.crowd.get(id);
  }

  /** The shown entity that the local player's input moves: a walking player or another entity. */
  get actor(): Actor | undefined {
    const id = this.#page.connection?.avatar;
    return this.member ?? (id === undefined ? undefined : this.#page.scene.get(id));
  }

  /** The avatar that would fill the picture, and is not drawn. */
  get hidden(): number | undefined {
    const { connection, camera, headset } = this.#page;
    return headset !== undefined || camera.nearness < HIDE_NEARER_M ? connection?.avatar : undefined;
  }

  /**
   * The direction in which an avatar is shown without delay; `undefined` until the direction of the camera
   * was set to that of the avatar.
   */
  yawOf(avatar: number): number | undefined {
    return avatar === this.#faced ? this.#page.camera.yaw : undefined;
  }

  /** Sets the camera to the direction of the avatar again, as soon as the avatar exists. */
  forget(): void {
    this.#faced = undefined;
  }

  /** Sends the present input, if the direction of the camera was set to that of the avatar. */
  sendInput(): void {
    const { connection, inputs, camera, headset } = this.#page;
    if (connection?.status !== "open" || connection.avatar !== this.#faced) return;
    Object.assign(this.#input, inputs.combine());
    this.#input.yaw = camera.yaw;
    headset?.updateInput(this.#input);
    connection.poses.input(this.#input);
  }

  /** Moves the camera, or the room of a headset, to the avatar. */
  follow(seconds: number, connection: WorldConnection): void {
    const { actor } = this;
    const { camera, headset, scene } = this.#page;
    if (!headset && this.#show(seconds, connection)) {
      if (actor !== undefined && this.#faced !== actor.id) this.#faceWith(actor, connection);
      return;
    }
    if (actor === undefined) {
      this.#watch(seconds, connection);
      const { x, y, z } = this.watched;
      if (headset) return headset.move(seconds, this.watched);
      return camera.follow(seconds, x, y, z, scene.obstacles, undefined);
    }
    if (this.#faced !== actor.id) this.#faceWith(actor, connection);
    const turned = connection.takeTurn();
    if (turned !== 0) this.#turn(turned);
    const { member } = this;
    const eyes = member ? EYES_M * member.size : actor.halfHeight;
    if (!member) this.#turnWith(actor);
    if (headset) return headset.move(seconds, actor);
    const { x, y, z } = actor;
    camera.isOverShoulder = member?.body.holding !== undefined;
    camera.follow(seconds, x, y + eyes, z, scene.obstacles, member?.body.holding ?? actor.id);
  }

  /** Shows the entity or the place that the world's camera shows; returns false if that is the own avatar. */
  #show(seconds: number, connection: WorldConnection): boolean {
    const { camera, scene } = this.#page;
    const { rules } = camera;
    if (rules === undefined || rules.mode === "first_person") return false;
    const { on } = rules;
    if (on !== undefined && connection.pose(on, this.#pose)) {
      const { x, y, z } = this.#pose;
      const top = scene.get(on)?.halfHeight ?? scene.crowd.get(on)?.halfHeight ?? 0;
      camera.follow(seconds, x, y + top, z, scene.obstacles, on);
      return true;
    }
    if (rules.mode !== "fixed") return false;
    const { x, y, z } = this.actor ?? this.watched;
    camera.follow(seconds, x, y, z, scene.obstacles, undefined);
    return true;
  }

  #faceWith(own: Actor, { world }: WorldConnection): void {
    const { camera, headset } = this.#page;
    this.#faced = own.id;
    this.#yaw = yawOf(own);
    camera.faceEntity(world.avatar ?? UNTURNED);
    camera.jump();
    headset?.faceWith(camera.yaw);
  }

  /** The camera of a driver turns with the vehicle. */
  #turnWith(own: Actor): void {
    const yaw = yawOf(own);
    this.#turn(wrapAngle(yaw - this.#yaw));
    this.#yaw = yaw;
  }

  #turn(radians: number): void {
    const { camera, headset } = this.#page;
    if (headset) headset.turnWith(radians);
    else camera.turn(radians, 0);
  }

  /** The input of players without a drawn body moves the camera's target. */
  #watch(seconds: number, connection: WorldConnection): void {
    const { avatar } = connection;
    if (avatar !== undefined) {
      if (!connection.pose(avatar, this.#pose)) return;
      this.#faced = avatar;
      this.watched.set(this.#pose.x, this.#pose.y, this.#pose.z);
      return;
    }
    this.#faced = undefined;
    const { camera, inputs } = this.#page;
    const { forward, right, run } = inputs.combine();
    const metres = WATCHING_SPEED * (run ? 2 : 1) * seconds;
    const [sin, cos] = [Math.sin(camera.yaw), Math.cos(camera.yaw)];
    this.watched.x += (right * cos - forward * sin) * metres;
    this.watched.z += (-right * sin - forward * cos) * metres;
  }
}
