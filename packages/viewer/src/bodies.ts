import type { BodyPredictor } from "@nowcast/predict-rapier";
import type { Pose } from "@nowcast/three";
import type { EntityId, Predictor, World } from "nowcast/world";

/** How often it is looked for bodies that forces move until there is one, in milliseconds. */
const LOOK_MS = 1_000;

/**
 * What one's own avatar pushes, holds and throws, predicted if the page's address asks for it. What does that is loaded when the world
 * has a body that forces move; where the page's policy does not let it run, `report` says so once, and bodies are shown as interpolated.
 */
export class Bodies {
  private made: BodyPredictor | undefined;
  private isAsked = false;
  private isClosed = false;
  private lookedMs = Number.NEGATIVE_INFINITY;
  private readonly moved = { position: new Float64Array(3), quaternion: new Float64Array(4) };

  constructor(
    private readonly world: World,
    private readonly predictor: Predictor,
    private readonly report: (error: Error) => void,
  ) {}

  /** After the predictor's, with the same clock. */
  sample(nowMs: number): void {
    this.made?.sample(nowMs);
    if (this.isAsked || nowMs - this.lookedMs < LOOK_MS) return;
    this.lookedMs = nowMs;
    if (this.hasLoose()) void this.load();
  }

  /** Moves a pose to where a body is shown; false for one that goes its own way. */
  place(id: EntityId, out: Pose): boolean {
    if (this.made === undefined) return false;
    const { position, quaternion } = this.moved;
    position[0] = out.x;
    position[1] = out.y;
    position[2] = out.z;
    quaternion[0] = out.qx;
    quaternion[1] = out.qy;
    quaternion[2] = out.qz;
    quaternion[3] = out.qw;
    if (!this.made.place(id, this.moved)) return false;
    out.x = position[0]!;
    out.y = position[1]!;
    out.z = position[2]!;
    out.qx = quaternion[0]!;
    out.qy = quaternion[1]!;
    out.qz = quaternion[2]!;
    out.qw = quaternion[3]!;
    return true;
  }

  close(): void {
    this.isClosed = true;
    this.made?.close();
    this.made = undefined;
  }

  private hasLoose(): boolean {
    for (const { kind } of this.world.entities.values()) {
      const { body, walker } = kind;
      const motion = body?.["motion"] ?? "dynamic";
      if (body !== undefined && walker === undefined && motion === "dynamic") return true;
    }
    return false;
  }

  private async load(): Promise<void> {
    this.isAsked = true;
    try {
      const { createBodyPredictor } = await import("@nowcast/predict-rapier");
      if (this.isClosed) return;
      const made = await createBodyPredictor(this.world, this.predictor);
      if (this.isClosed) made.close();
      else this.made = made;
    } catch (error) {
      this.report(error as Error);
    }
  }
}
