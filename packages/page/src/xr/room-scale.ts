import { wrapAngle } from "@nowcast/three/internal";

/** Distance of the head from the body at which the body follows, and at which it stops, in metres. */
const FOLLOW_M = 0.14;
const FOLLOWED_M = 0.04;
/** Distance at which the body follows at full walking speed. */
const FULL_SPEED_M = 0.45;
/** If a body moved farther than this in one frame, it was teleported. */
const PLACED_M = 0.6;
/**
 * Beyond this distance in metres between head and body, the head is at a place that the body cannot reach, such as in a
 * wall. At the second value the picture is dark.
 */
const LEANING_M = 0.45;
const LEANT_M = 0.8;

/**
 * The position of a head in its room, in metres; the yaw is its direction, counter-clockwise seen from above, 0 for -Z.
 */
export interface RoomHead {
  readonly x: number;
  readonly y: number;
  readonly z: number;
  readonly yaw: number;
}

/**
 * Places the physical room of a headset (the rig) in the world, so that the head is above the body that the server
 * moves.
 *
 * One invariant: the point of the room called the anchor is always at the body. When the body moves by a
 * stick, a lift, or a correction by the server, the room moves with it, and the head keeps its place in the
 * room. When the body follows a head that walked in its room, the anchor moves instead, and the room stays.
 */
export class RoomScale {
  /** The position of the room's origin in the world, in metres: on the floor. */
  readonly position = { x: 0, y: 0, z: 0 };
  /** The rotation of the room, counter-clockwise seen from above. */
  yaw = 0;
  #anchorX = 0;
  #anchorZ = 0;
  #bodyX = 0;
  #bodyZ = 0;
  #isFollowing = false;
  #head: RoomHead = { x: 0, y: 0, z: 0, yaw: 0 };

  /** Sets the current pose of the head in the room. */
  look(head: RoomHead): void {
    this.#head = head;
  }

  /** The direction of the head in the world. */
  get headYaw(): number {
    return wrapAngle(this.yaw + this.#head.yaw);
  }

  /**
   * Moves the room so that the head is above the body and faces this direction. Called at the beginning, and
   * when the body changes.
   */
  recentre(yaw: number): void {
    this.#anchorX = this.#head.x;
    this.#anchorZ = this.#head.z;
    this.yaw = wrapAngle(yaw - this.#head.yaw);
    this.#isFollowing = false;
  }

  /** Sets the body below the head, because a seated player does not walk about. */
  sit(): void {
    this.#anchorX = this.#head.x;
    this.#anchorZ = this.#head.z;
    this.#isFollowing = false;
  }

  /** Turns the room around the head, so that nothing but the direction changes. */
  turn(radians: number): void {
    const { x, z } = this.worldOf(this.#head.x, this.#head.z);
    this.yaw = wrapAngle(this.yaw + radians);
    const [sin, cos] = [Math.sin(this.yaw), Math.cos(this.yaw)];
    this.position.x = x - (this.#head.x * cos + this.#head.z * sin);
    this.position.z = z - (this.#head.z * cos - this.#head.x * sin);
    this.#anchorX = (this.#bodyX - this.position.x) * cos - (this.#bodyZ - this.position.z) * sin;
    this.#anchorZ = (this.#bodyX - this.position.x) * sin + (this.#bodyZ - this.position.z) * cos;
  }

  /**
   * The input that moves the body under the head, relative to the head's direction; `undefined` if it is not needed.
   */
  follow(): { readonly forward: number; readonly right: number } | undefined {
    const [dx, dz] = [this.#head.x - this.#anchorX, this.#head.z - this.#anchorZ];
    const metres = Math.hypot(dx, dz);
    this.#isFollowing = metres > (this.#isFollowing ? FOLLOWED_M : FOLLOW_M);
    if (!this.#isFollowing) return undefined;
    const share = Math.min(1, metres / FULL_SPEED_M) / metres;
    const [sin, cos] = [Math.sin(this.#head.yaw), Math.cos(this.#head.yaw)];
    return { forward: (-dx * sin - dz * cos) * share, right: (dx * cos - dz * sin) * share };
  }

  /** Records that the player walks by other input than {@link follow}. */
  steer(): void {
    this.#isFollowing = false;
  }

  /** Sets the current position of the body's feet, and moves the room. */
  stand(x: number, y: number, z: number): void {
    const [dx, dz] = [x - this.#bodyX, z - this.#bodyZ];
    this.#bodyX = x;
    this.#bodyZ = z;
    const [sin, cos] = [Math.sin(this.yaw), Math.cos(this.yaw)];
    if (this.#isFollowing && Math.hypot(dx, dz) < PLACED_M) {
      this.#anchorX += dx * cos - dz * sin;
      this.#anchorZ += dx * sin + dz * cos;
    }
    this.position.x = x - (this.#anchorX * cos + this.#anchorZ * sin);
    this.position.y = y;
    this.position.z = z - (this.#anchorZ * cos - this.#anchorX * sin);
  }

  /** 0 while the body is under the head, 1 if the head is so far away that it must be in a wall. */
  get leaning(): number {
    const metres = Math.hypot(this.#head.x - this.#anchorX, this.#head.z - this.#anchorZ);
    return Math.min(1, Math.max(0, (metres - LEANING_M) / (LEANT_M - LEANING_M)));
  }

  /** Converts a point of the room to the world. */
  worldOf(x: number, z: number): { readonly x: number; readonly z: number } {
    const [sin, cos] = [Math.sin(this.yaw), Math.cos(this.yaw)];
    return { x: this.position.x + x * cos + z * sin, z: this.position.z + z * cos - x * sin };
  }
}
