import type { WorldScene } from "@nowcast/three";
import type { EntityId, Pose, World } from "nowcast/world";

/** The parts of the page that steer the local avatar. */
export interface Steering {
  /**
   * The direction of the camera, if the camera turns together with this avatar. The body is then shown in
   * this direction without delay.
   */
  yawOf(avatar: EntityId): number | undefined;
  /** Whether the local avatar holds an item. */
  readonly isHolding: boolean;
}

/**
 * Turns the local avatar to the camera's direction at once if it holds nothing, because the server will turn it the
 * same way. The SDK predicts its position on sessions. In the plain protocol the position is interpolated.
 */
export class AvatarPrediction {
  readonly #world: World;
  readonly #scene: WorldScene;
  readonly #steering: Steering;

  constructor(world: World, scene: WorldScene, steering: Steering) {
    this.#world = world;
    this.#scene = scene;
    this.#steering = steering;
  }

  /** `adjustAvatar` of the SDK's poses. */
  adjust(pose: Pose, isPredicted: boolean): boolean {
    const id = this.#world.avatarId;
    const yaw = id === undefined ? undefined : this.#steering.yawOf(id);
    const member = id === undefined ? undefined : this.#scene.crowd.get(id);
    const turns = member?.body.gait !== undefined && yaw !== undefined && !this.#steering.isHolding;
    if (turns) turn(pose, yaw);
    return isPredicted || turns;
  }
}

function turn({ quaternion }: Pose, yaw: number): void {
  quaternion[0] = quaternion[2] = 0;
  quaternion[1] = Math.sin(yaw / 2);
  quaternion[3] = Math.cos(yaw / 2);
}
