/**
 * Hands and controllers that come, go, and pinch.
 *
 * @vitest-environment jsdom
 */
import { expect, it } from "vitest";
import { TrackedInput } from "../src/xr/tracked-input.js";

type Source = Partial<XRInputSource> & { readonly at: number };

/** A session whose sources a test changes. Spaces are places along x. */
class Room extends EventTarget {
  inputSources: Source[] = [];
  readonly input = new TrackedInput(this as unknown as XRSession, () => ({}) as XRReferenceSpace);

  source(handedness: XRHandedness, at: number, rest: Partial<XRInputSource> = {}): Source {
    const space = { x: at } as unknown as XRSpace;
    return {
      handedness,
      targetRayMode: "tracked-pointer",
      targetRaySpace: space,
      gripSpace: space,
      at,
      ...rest,
    };
  }

  say(type: string, inputSource: Source): void {
    this.dispatchEvent(Object.assign(new Event(type), { inputSource }));
  }

  read(): TrackedInput {
    const poseOf = (at: unknown): unknown => {
      const { x = 0 } = at as { x?: number };
      return { transform: { position: { x, y: 0, z: 0 }, orientation: { x: 0, y: 0, z: 0, w: 1 } } };
    };
    this.input.read({ getViewerPose: poseOf, getPose: poseOf } as unknown as XRFrame);
    return this.input;
  }
}

it("lets go what a source held that is gone without an end", () => {
  const room = new Room();
  const hand = room.source("left", -1);
  room.inputSources = [hand];
  room.say("squeezestart", hand);
  expect(room.read().left).toMatchObject({ squeeze: true, grip: 1, isTracked: true });
  room.inputSources = [];
  expect(room.read().left).toMatchObject({ squeeze: false, grip: 0, isTracked: false });
  room.inputSources = [room.source("left", -1)];
  expect(room.read().left).toMatchObject({ squeeze: false, isTracked: true });
});

it.each([
  "tracked-pointer",
  "transient-pointer",
] as const)("takes a single source without a side for the right hand: %s", (targetRayMode) => {
  const room = new Room();
  const pad = room.source("none", 2, { targetRayMode });
  room.inputSources = [pad];
  room.say("selectstart", pad);
  expect(room.read().right).toMatchObject({ trigger: true, isTracked: true });
  room.say("selectend", pad);
  expect(room.read().right.trigger).toBe(false);
});

it("keeps a tracked hand beside the short source of its pinch, which has the better ray", () => {
  const room = new Room();
  const hand = room.source("right", 1);
  const pinch = room.source("right", 5, { targetRayMode: "transient-pointer", gripSpace: undefined });
  room.inputSources = [hand, pinch];
  room.say("selectstart", pinch);
  const { right } = room.read();
  expect([right.trigger, right.isTracked, right.ray.position.x]).toEqual([true, true, 5]);
  room.inputSources = [hand];
  expect([room.read().right.trigger, right.ray.position.x]).toEqual([false, 1]);
});
