import { ease } from "@nowcast/three/internal";
import { BackSide, Mesh, ShaderMaterial, SphereGeometry } from "three";

/** Half of the visible angle through an open and a narrow vignette, in radians. */
const OPEN = 1.4;
const NARROW = 0.52;
const SOFT = 0.28;
/** Below this amount, narrowing and darkness are not noticeable, so nothing is drawn. */
const SLIGHT = 0.01;

/** A dark ring around the view, which narrows during motion, and a dark curtain. It is attached to the camera. */
export class Vignette {
  readonly mesh: Mesh<SphereGeometry, ShaderMaterial>;
  #narrowing = 0;
  #darkness = 0;

  constructor() {
    const material = new ShaderMaterial({
      side: BackSide,
      transparent: true,
      depthTest: false,
      depthWrite: false,
      toneMapped: false,
      uniforms: { edge: { value: OPEN }, soft: { value: SOFT }, dark: { value: 0 } },
      vertexShader: /* glsl */ `
        varying vec3 vAhead;
        void main() {
          vAhead = position;
          gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
        }`,
      fragmentShader: /* glsl */ `
        uniform float edge, soft, dark;
        varying vec3 vAhead;
        void main() {
          float angle = acos(clamp(-normalize(vAhead).z, -1.0, 1.0));
          gl_FragColor = vec4(0.0, 0.0, 0.0, max(dark, smoothstep(edge - soft, edge, angle)));
        }`,
    });
    this.mesh = new Mesh(new SphereGeometry(0.4, 24, 16), material);
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = 1000;
    this.mesh.visible = false;
  }

  /** `moved`: the amount of motion without walking, 0 to 1. `dark`: the amount of darkening. */
  update(seconds: number, moved: number, dark: number): void {
    this.#narrowing += (moved - this.#narrowing) * ease(moved > this.#narrowing ? 10 : 5, seconds);
    this.#darkness += (dark - this.#darkness) * ease(14, seconds);
    const { uniforms } = this.mesh.material;
    uniforms["edge"]!.value = OPEN + (NARROW - OPEN) * this.#narrowing;
    uniforms["dark"]!.value = this.#darkness;
    this.mesh.visible = this.#narrowing > SLIGHT || this.#darkness > SLIGHT;
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
    this.mesh.removeFromParent();
  }
}
