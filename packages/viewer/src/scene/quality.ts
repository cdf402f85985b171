/** Levels of quality, and the automatic resolution. */
export interface Quality {
  name: "low" | "medium" | "high";
  /** Edge length of the shadow map in texels; 0 for no shadows. */
  shadowMap: number;
  shadowEdges: "hard" | "smooth" | "soft";
  /** Half the width of the shadowed area around the focus, in metres. */
  shadowReach: number;
  /** Shadows are drawn in every n-th frame with motion. */
  shadowEvery: number;
  pixelRatio: number;
  /** Steps around each quarter of a block's rounded edge. */
  bevelSegments: number;
  /** Reflective instead of plain surfaces. */
  rich: boolean;
  /** Tufts of grass on the lawn. */
  grass: boolean;
}

export type QualityChoice = "auto" | Quality["name"];

export function qualityFor(name: Quality["name"], devicePixelRatio: number, shadows: boolean): Quality {
  switch (name) {
    case "low":
      return {
        name,
        shadowMap: shadows ? 1024 : 0,
        shadowEdges: "hard",
        shadowReach: 20,
        shadowEvery: 3,
        pixelRatio: Math.min(devicePixelRatio, 1) * 0.7,
        bevelSegments: 1,
        rich: false,
        grass: false,
      };
    case "medium":
      return {
        name,
        shadowMap: shadows ? 2048 : 0,
        shadowEdges: "smooth",
        shadowReach: 28,
        shadowEvery: 1,
        pixelRatio: Math.min(devicePixelRatio, 1.25),
        bevelSegments: 2,
        rich: true,
        grass: true,
      };
    case "high":
      return {
        name,
        shadowMap: shadows ? 4096 : 0,
        shadowEdges: "soft",
        shadowReach: 36,
        shadowEvery: 1,
        pixelRatio: Math.min(devicePixelRatio, 2),
        bevelSegments: 3,
        rich: true,
        grass: true,
      };
  }
}

/** Renderers that compute every pixel on the processor. */
export function isSoftwareRenderer(rendererName: string): boolean {
  return /swiftshader|llvmpipe|softpipe|software|microsoft basic render/i.test(rendererName);
}

export function automaticQuality(rendererName: string, touch: boolean): Quality["name"] {
  if (isSoftwareRenderer(rendererName)) return "low";
  return touch ? "medium" : "high";
}

const SLOW_MS = 26;
const FAST_MS = 14;
const JUDGE_EVERY_MS = 1200;
/** Minimum pixel ratio on any machine. With fewer pixels, the picture would not be recognisable. */
const PIXEL_RATIO_MIN = 0.55;

/**
 * Keeps the frame rate by changing the resolution. The pixel ratio decreases while frames take long and slowly
 * increases while they are fast. The two bounds are far apart, so that the resolution does not oscillate.
 */
export class ResolutionGovernor {
  scale = 1;
  #sinceMs = 0;
  #frames = 0;
  /** The wait before the next increase. It becomes longer after an increase that made frames slow. */
  #patience = 1;
  #calm = 0;
  readonly #pixelRatio: number;

  constructor(pixelRatio: number) {
    this.#pixelRatio = pixelRatio;
  }

  /** The pixel ratio to draw with. */
  get effective(): number {
    return this.#pixelRatio * this.scale;
  }

  /** Records the time of one frame; returns whether `scale` has changed. */
  frame(frameMs: number): boolean {
    // A longer pause is caused by a hidden tab or a debugger, not by a slow frame.
    if (frameMs > 500) return false;
    this.#sinceMs += frameMs;
    this.#frames++;
    if (this.#sinceMs < JUDGE_EVERY_MS) return false;
    const mean = this.#sinceMs / this.#frames;
    this.#sinceMs = 0;
    this.#frames = 0;
    const scaleMin = Math.min(1, PIXEL_RATIO_MIN / this.#pixelRatio);
    if (mean > SLOW_MS && this.scale > scaleMin) {
      this.scale = Math.max(scaleMin, this.scale * (mean > 2 * SLOW_MS ? 0.7 : 0.85));
      this.#patience = Math.min(16, this.#patience * 2);
      this.#calm = 0;
      return true;
    }
    if (mean < FAST_MS && this.scale < 1 && ++this.#calm >= this.#patience * 2) {
      this.scale = Math.min(1, this.scale * 1.15);
      this.#calm = 0;
      return true;
    }
    return false;
  }
}
