import {
  BufferAttribute,
  CircleGeometry,
  Color,
  Group,
  Mesh,
  MeshBasicMaterial,
  PlaneGeometry,
  ShaderMaterial,
  Vector3,
} from "three";
import type { SkyLook } from "./sky-look.js";

const RANGES = [
  { radius: 430, height: 62, bumps: 5, seed: 3.1 },
  { radius: 330, height: 36, bumps: 7, seed: 8.7 },
  { radius: 250, height: 17, bumps: 11, seed: 5.2 },
] as const;

/** Distance between the ground of a world and the land below it, in metres, so that they do not flicker. */
const BELOW_GROUND_M = 0.05;

/** The distant surroundings of a world: water or land, and three ranges of hills, paler with distance. */
export class Surroundings {
  readonly group = new Group();
  readonly #hills: Mesh<PlaneGeometry, MeshBasicMaterial>[] = [];
  readonly #sea: ShaderMaterial;
  readonly #water: Mesh;
  readonly #land: Mesh<CircleGeometry, ShaderMaterial>;

  constructor() {
    for (const range of RANGES) {
      const mesh = new Mesh(
        hillRange(range.radius, range.height, range.bumps, range.seed),
        new MeshBasicMaterial({ fog: false, toneMapped: false, vertexColors: true }),
      );
      mesh.renderOrder = 3;
      this.#hills.push(mesh);
      this.group.add(mesh);
    }
    this.#sea = new ShaderMaterial({
      toneMapped: false,
      uniforms: {
        near: { value: new Color() },
        far: { value: new Color() },
        horizon: { value: new Color() },
        glow: { value: new Color() },
        sun: { value: new Vector3() },
        seconds: { value: 0 },
      },
      vertexShader: VERTEX,
      fragmentShader: SEA,
    });
    const sea = new Mesh(new CircleGeometry(520, 48), this.#sea);
    sea.rotation.x = -Math.PI / 2;
    sea.renderOrder = 2;
    this.#water = sea;
    this.#land = new Mesh(
      sea.geometry,
      new ShaderMaterial({
        toneMapped: false,
        uniforms: { near: { value: new Color() }, horizon: { value: new Color() } },
        vertexShader: VERTEX,
        fragmentShader: LAND,
      }),
    );
    this.#land.rotation.copy(sea.rotation);
    this.#land.renderOrder = 2;
    this.group.add(sea, this.#land);
  }

  setLook(look: SkyLook): void {
    this.#hills.forEach((mesh, i) => {
      const base = look.hills[i] ?? look.horizon;
      paintRange(mesh.geometry, RANGES[i]?.height ?? 1, base, look.horizon);
    });
    const u = this.#sea.uniforms;
    u["near"]!.value = look.seaNear;
    u["far"]!.value = look.seaFar;
    u["horizon"]!.value = look.horizon;
    u["glow"]!.value = look.glow;
    u["sun"]!.value = look.sunDirection;
    const land = this.#land.material.uniforms;
    land["near"]!.value = look.land;
    land["horizon"]!.value = look.horizon;
  }

  /**
   * Sets the sea's height in metres; in a world without a sea, the height of the ground's underside. The hills stand on
   * it. Without both, the surroundings are hidden.
   */
  setLevel(sea: number | undefined, land: number | undefined): void {
    const level = sea ?? land;
    this.group.visible = level !== undefined;
    this.#water.visible = sea !== undefined;
    this.#land.visible = sea === undefined;
    this.group.position.y = sea ?? (land ?? 0) - BELOW_GROUND_M;
  }

  /** Moves the waves. `seconds` stays the same for users who prefer reduced motion. */
  update(seconds: number): void {
    this.#sea.uniforms["seconds"]!.value = seconds;
  }

  dispose(): void {
    for (const mesh of [...this.#hills, this.#land]) {
      mesh.geometry.dispose();
      mesh.material.dispose();
    }
    this.#sea.dispose();
  }
}

function hillRange(radius: number, height: number, bumps: number, seed: number): PlaneGeometry {
  const columns = 180;
  const geometry = new PlaneGeometry(1, 1, columns, 3);
  const position = geometry.getAttribute("position");
  for (let i = 0; i < position.count; i++) {
    const column = i % (columns + 1);
    const row = Math.floor(i / (columns + 1));
    const angle = (column / columns) * Math.PI * 2;
    const top = height * ridge(angle, bumps, seed);
    // The ridge is a sum of whole waves around the circle, so it has no seam.
    position.setXYZ(i, Math.sin(angle) * radius, -2 + (top + 2) * (1 - row / 3), -Math.cos(angle) * radius);
  }
  geometry.computeBoundingSphere();
  return geometry;
}

function ridge(angle: number, bumps: number, seed: number): number {
  let sum = 0;
  for (let octave = 0; octave < 5; octave++) {
    const frequency = Math.round(bumps * 1.9 ** octave);
    sum += Math.sin(angle * frequency + seed * (octave + 1) * 2.3) / 1.8 ** octave;
  }
  return Math.max(0.04, 0.42 + 0.3 * sum);
}

function paintRange(geometry: PlaneGeometry, height: number, base: Color, haze: Color): void {
  const position = geometry.getAttribute("position");
  const colors = new Float32Array(position.count * 3);
  const color = new Color();
  for (let i = 0; i < position.count; i++) {
    const above = position.getY(i) / height;
    color.copy(haze).lerp(base, Math.min(1, 0.25 + Math.max(0, above) * 1.5));
    color.toArray(colors, i * 3);
  }
  geometry.setAttribute("color", new BufferAttribute(colors, 3));
}

const VERTEX = /* glsl */ `
  varying vec3 vWorld;
  void main() {
    vec4 world = modelMatrix * vec4(position, 1.0);
    vWorld = world.xyz;
    gl_Position = projectionMatrix * viewMatrix * world;
  }`;

const LAND = /* glsl */ `
  uniform vec3 near, horizon;
  varying vec3 vWorld;
  void main() {
    float distance = length(cameraPosition - vWorld);
    vec2 p = vWorld.xz * 0.05;
    float patches = sin(p.x + 1.7 * sin(p.y * 0.7)) * sin(p.y * 1.3 + sin(p.x * 0.6));
    vec3 color = near * (1.0 + 0.05 * patches);
    gl_FragColor = vec4(mix(color, horizon, smoothstep(20.0, 300.0, distance)), 1.0);
    #include <colorspace_fragment>
  }`;

const SEA = /* glsl */ `
  uniform vec3 near, far, horizon, glow, sun;
  uniform float seconds;
  varying vec3 vWorld;
  void main() {
    vec3 toEye = cameraPosition - vWorld;
    float distance = length(toEye);
    vec3 eye = toEye / distance;
    float calm = 1.0 / (1.0 + distance * 0.012);
    vec2 p = vWorld.xz;
    vec2 slope = vec2(
      cos(p.x * 0.55 + p.y * 0.22 + seconds * 0.9) + 0.6 * cos(p.x * 1.3 - p.y * 0.9 - seconds * 1.3),
      cos(p.y * 0.61 - p.x * 0.17 + seconds * 0.8) + 0.6 * cos(p.y * 1.5 + p.x * 0.7 + seconds * 1.1)
    ) * 0.07 * calm;
    vec3 normal = normalize(vec3(-slope.x, 1.0, -slope.y));
    float facing = clamp(dot(normal, eye), 0.0, 1.0);
    float mirror = pow(1.0 - facing, 3.0);
    vec3 color = mix(near, far, mirror);
    color = mix(color, horizon, smoothstep(120.0, 500.0, distance));
    vec3 halfway = normalize(sun + eye);
    float glint = pow(max(dot(normal, halfway), 0.0), 220.0);
    color += glow * glint * 0.7;
    gl_FragColor = vec4(color, 1.0);
    #include <colorspace_fragment>
  }`;
