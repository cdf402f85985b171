import type { WebGLRenderer } from "three";

/** A hidden tab draws no frames; the first one after it must not make up for minutes. */
const FRAME_MS_MAX = 100;

export interface Frame {
  /** On the clock of `performance.now()`. */
  readonly nowMs: number;
  /** Since the frame before, however long that is ago. */
  readonly frameMs: number;
  /** The same for motion: 0.1 at most. */
  readonly seconds: number;
  /** In a headset; `undefined` on a screen. */
  readonly xr: XRFrame | undefined;
}

/**
 * Calls `run` for every frame, on a screen and in a headset, and returns a function that ends it. Put the camera into a
 * `Group`, the rig, and move the rig: in a headset the camera has the pose of the head within the rig.
 */
export function startLoop(
  renderer: Pick<WebGLRenderer, "setAnimationLoop">,
  run: (frame: Frame) => void,
): () => void {
  let lastMs = performance.now();
  void renderer.setAnimationLoop((nowMs, xr) => {
    // The browser's time of a frame may lie before the moment at which the loop was started.
    const frameMs = Math.max(0, nowMs - lastMs);
    lastMs = nowMs;
    run({ nowMs, frameMs, seconds: Math.min(frameMs, FRAME_MS_MAX) / 1000, xr: xr ?? undefined });
  });
  return () => void renderer.setAnimationLoop(null);
}
