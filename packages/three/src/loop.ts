import type { WebGLRenderer } from "three";

/**
 * Maximum time step in seconds. A hidden tab draws no frames, and the first frame afterwards must not advance
 * motion by minutes.
 */
const FRAME_MS_MAX = 100;

export interface Frame {
  /** The time of the frame, on the clock of `performance.now()`. */
  readonly nowMs: number;
  /** The time since the previous frame in seconds, however long it is. */
  readonly frameMs: number;
  /** The time since the previous frame for animations, in seconds: at most 0.1. */
  readonly seconds: number;
  /** The frame of a headset; `undefined` on a screen. */
  readonly xr: XRFrame | undefined;
}

/**
 * Calls `run` for every frame, on a screen and in a headset, and returns a function that ends it. Put the camera into a
 * `Group`, the rig, and move the rig: in a headset, the camera has the pose of the head relative to the rig.
 */
export function startLoop(
  renderer: Pick<WebGLRenderer, "setAnimationLoop">,
  run: (frame: Frame) => void,
): () => void {
  let lastMs = performance.now();
  void renderer.setAnimationLoop((nowMs, xr) => {
    // The browser's time of a frame may be earlier than the time at which the loop was started.
    const frameMs = Math.max(0, nowMs - lastMs);
    lastMs = nowMs;
    run({ nowMs, frameMs, seconds: Math.min(frameMs, FRAME_MS_MAX) / 1000, xr: xr ?? undefined });
  });
  return () => void renderer.setAnimationLoop(null);
}
