import { AdditiveBlending, BufferAttribute, BufferGeometry, Points, ShaderMaterial } from "three";

const STARS = 2_200;
/** Share of the stars that lie near the band of the Milky Way. */
const BAND = 0.45;

/** The stars of the night, as points behind all other things. One draw call, and none by day. */
export class Stars {
  readonly points: Points<BufferGeometry, ShaderMaterial>;

  constructor() {
    const geometry = new BufferGeometry();
    const places = new Float32Array(STARS * 3);
    const lights = new Float32Array(STARS * 2);
    for (let star = 0; star < STARS; star++) {
      const turn = scatter(star, 1) * 2 * Math.PI;
      const flat = scatter(star, 2) * 2 - 1;
      const up = scatter(star, 3) < BAND ? flat ** 3 * 0.35 : flat;
      const across = Math.sqrt(1 - up * up);
      // The band is tilted against the horizon.
      const [x, y, z] = [Math.cos(turn) * across, up, Math.sin(turn) * across];
      places.set([x * 0.6 - y * 0.8, x * 0.8 + y * 0.6, z], star * 3);
      lights.set([scatter(star, 4) ** 5, scatter(star, 5)], star * 2);
    }
    geometry.setAttribute("position", new BufferAttribute(places, 3));
    geometry.setAttribute("light", new BufferAttribute(lights, 2));
    const material = new ShaderMaterial({
      transparent: true,
      depthWrite: false,
      toneMapped: false,
      blending: AdditiveBlending,
      uniforms: { share: { value: 0 }, haze: { value: 1 }, pixel: { value: 1 } },
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
    });
    this.points = new Points(geometry, material);
    this.points.frustumCulled = false;
    this.points.renderOrder = 4;
    this.points.visible = false;
    this.points.onBeforeRender = (renderer) => {
      material.uniforms["pixel"]!.value = Math.max(1, renderer.domElement.height / 720);
    };
  }

  /** `share` is 0 by day and 1 at night. `haze` hides the stars near the horizon, 0 in empty space. */
  set(share: number, haze: number): void {
    const { uniforms } = this.points.material;
    uniforms["share"]!.value = share;
    uniforms["haze"]!.value = haze;
    this.points.visible = share > 0.01;
  }

  dispose(): void {
    this.points.removeFromParent();
    this.points.geometry.dispose();
    this.points.material.dispose();
  }
}

/** A number from 0 to 1 that looks random: the same sky on every visit. */
function scatter(star: number, salt: number): number {
  const value = Math.sin(star * 12.9898 + salt * 78.233) * 43758.5453;
  return value - Math.floor(value);
}

const VERTEX = /* glsl */ `
  uniform float share, haze, pixel;
  attribute vec2 light;
  varying vec4 vColor;
  void main() {
    gl_Position = (projectionMatrix * vec4(mat3(viewMatrix) * position, 1.0)).xyww;
    gl_PointSize = pixel * (1.4 + 2.4 * light.x);
    vec3 tint = mix(vec3(1.0, 0.86, 0.7), vec3(0.74, 0.85, 1.0), light.y);
    float clear = mix(1.0, smoothstep(0.02, 0.4, position.y), haze);
    vColor = vec4(tint, share * clear * (0.3 + 0.7 * light.x));
  }`;

const FRAGMENT = /* glsl */ `
  varying vec4 vColor;
  void main() {
    float away = 2.0 * length(gl_PointCoord - 0.5);
    gl_FragColor = vec4(vColor.rgb, vColor.a * (1.0 - smoothstep(0.4, 1.0, away)));
  }`;
