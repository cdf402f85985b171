/** The kit's street lamp, and the darkness in which its light is seen. */
import { Color, MathUtils, type Scene } from "three";
import type { Prop } from "./prop.js";

/** The distance from the middle of the lamp's model to its foot, in metres. */
export const LAMP_HALF_HEIGHT_M = 1.55;

export function isStreetLamp({ body }: Prop): boolean {
  return body.appearance?.model?.name === "@nowcast/kit/lamp";
}

/** The darkness around a scene, by its background: 0 for a noon sky, 1 at dusk and at night. */
export function darknessOf(background: Scene["background"]): number {
  if (!(background instanceof Color)) return 1;
  const luminance = 0.2126 * background.r + 0.7152 * background.g + 0.0722 * background.b;
  return 1 - MathUtils.smoothstep(luminance, 0.55, 0.8);
}
