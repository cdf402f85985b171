import type { Camera, WebGLRenderer } from "three";

/** Number of pixels that a metre fills at a distance of one metre: the unit of the sizes of points. */
export function pixelsAtOneMetre(renderer: WebGLRenderer, camera: Camera): number {
  const height = renderer.getRenderTarget()?.height ?? renderer.domElement.height;
  return (height / 2) * camera.projectionMatrix.elements[5]!;
}
