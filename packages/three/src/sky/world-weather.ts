/** Rain and snow that a world sets: `world.weather` in `docs/how-to/pages.md`. */

import { isFields, readVector } from "nowcast/internal";
import { BufferAttribute, BufferGeometry, Group, LineSegments, Points, ShaderMaterial, Vector3 } from "three";

/** The screen place that contains the world's weather. */
export const WEATHER_PLACE = "@weather";

/** The weather that a world shows. */
export interface Weather {
  /** 0 for none, 1 for heavy. */
  readonly rain: number;
  /** 0 for none, 1 for heavy. */
  readonly snow: number;
  /** In metres a second. */
  readonly wind: readonly [number, number, number];
}

/** Drops and flakes of the heaviest weather. */
const DROPS_MAX = 2_400;
const FLAKES_MAX = 1_800;
/** Drops are drawn in a cube of this edge around the camera, in metres. */
const CUBE_M = 24;
/** Speeds of fall, in metres a second. */
const RAIN_FALL = 11;
const SNOW_FALL = 1.3;
/** The wind carries a drop of rain less than a flake of snow. */
const RAIN_DRIFT = 0.8;
/** The length of a drop on the picture: its way in this time. */
const STREAK_S = 0.035;
/** Weather comes and goes within this time. */
const FADE_S = 2;
const WIND_MAX = 40;
const CALM: Weather = { rain: 0, snow: 0, wind: [0, 0, 0] };

/** Reads the value of {@link WEATHER_PLACE}; `undefined` for a value that is no weather. */
export function readWeather(value: unknown): Weather | undefined {
  if (!isFields(value)) return undefined;
  const strength = (field: unknown): number =>
    typeof field === "number" && field >= 0 && field <= 1 ? field : 0;
  const wind = readVector(value["wind"]) ?? [0, 0, 0];
  const isWind = wind.every((part) => Math.abs(part) <= WIND_MAX);
  return { rain: strength(value["rain"]), snow: strength(value["snow"]), wind: isWind ? wind : [0, 0, 0] };
}

/**
 * Draws rain and snow around the camera. The positions are computed on the graphics processor, so a frame changes only a
 * few numbers. Add `group` to the scene, and call `update` in each frame.
 */
export class WorldWeather {
  readonly group = new Group();
  #weather: Weather = CALM;
  #rain: Fall | undefined;
  #snow: Fall | undefined;

  /** The weather that the world has set. */
  get weather(): Weather {
    return this.#weather;
  }

  /** Sets the value of {@link WEATHER_PLACE}; `undefined` for calm weather. */
  set(value: unknown): void {
    this.#weather = readWeather(value) ?? CALM;
  }

  /** Moves the drops around `eye` by a frame of this many seconds. */
  update(seconds: number, eye: Vector3): void {
    const { rain, snow, wind } = this.#weather;
    if (rain > 0) this.#rain ??= this.#add(createRain());
    if (snow > 0) this.#snow ??= this.#add(createSnow());
    const [x, y, z] = wind;
    this.#rain?.update(seconds, eye, rain, x * RAIN_DRIFT, y - RAIN_FALL, z * RAIN_DRIFT);
    this.#snow?.update(seconds, eye, snow, x, y - SNOW_FALL, z);
  }

  dispose(): void {
    this.#rain?.dispose();
    this.#snow?.dispose();
    this.#rain = this.#snow = undefined;
    this.group.clear();
  }

  #add(fall: Fall): Fall {
    this.group.add(fall.drawn);
    return fall;
  }
}

/** Drops or flakes that fall. */
class Fall {
  readonly drawn: LineSegments | Points;
  readonly #material: ShaderMaterial;
  readonly #vertices: number;
  readonly #velocity = new Vector3();
  readonly #offset = new Vector3();
  readonly #eye = new Vector3();
  #seconds = 0;
  #strength = 0;

  constructor(count: number, ends: 1 | 2, vertexShader: string, fragmentShader: string) {
    this.#vertices = count * ends;
    this.#material = new ShaderMaterial({
      transparent: true,
      depthWrite: false,
      uniforms: {
        eye: { value: this.#eye },
        offset: { value: this.#offset },
        velocity: { value: this.#velocity },
        seconds: { value: 0 },
        strength: { value: 0 },
      },
      vertexShader,
      fragmentShader,
    });
    const geometry = createDrops(count, ends);
    this.drawn =
      ends === 2 ? new LineSegments(geometry, this.#material) : new Points(geometry, this.#material);
    // The shader places the drops around the camera.
    this.drawn.frustumCulled = false;
    this.drawn.renderOrder = 5;
  }

  update(seconds: number, eye: Vector3, strength: number, x: number, y: number, z: number): void {
    const way = strength - this.#strength;
    this.#strength += Math.sign(way) * Math.min(Math.abs(way), seconds / FADE_S);
    this.drawn.visible = this.#strength > 0;
    if (!this.drawn.visible) return;
    this.#velocity.set(x, y, z);
    this.#offset.set(
      (this.#offset.x + x * seconds) % CUBE_M,
      (this.#offset.y + y * seconds) % CUBE_M,
      (this.#offset.z + z * seconds) % CUBE_M,
    );
    this.#eye.copy(eye);
    // A whole turn of the slowest sway: the number stays small, so that it stays exact.
    this.#seconds = (this.#seconds + seconds) % (20 * Math.PI);
    const { uniforms } = this.#material;
    if (uniforms["seconds"]) uniforms["seconds"].value = this.#seconds;
    if (uniforms["strength"]) uniforms["strength"].value = this.#strength;
    // Weak weather has fewer drops. An even number keeps both ends of a drop.
    this.drawn.geometry.setDrawRange(0, 2 * Math.ceil((this.#vertices * this.#strength) / 2));
  }

  dispose(): void {
    this.drawn.removeFromParent();
    this.drawn.geometry.dispose();
    this.#material.dispose();
  }
}

/** Drops at random places in a cube of edge 1, each with one vertex for each of its ends. */
function createDrops(count: number, ends: 1 | 2): BufferGeometry {
  const places = new Float32Array(3 * ends * count);
  const end = new Float32Array(ends * count);
  for (let drop = 0; drop < count; drop++) {
    const place = [Math.random(), Math.random(), Math.random()];
    for (let at = 0; at < ends; at++) {
      places.set(place, 3 * (ends * drop + at));
      end[ends * drop + at] = at;
    }
  }
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(places, 3));
  geometry.setAttribute("end", new BufferAttribute(end, 1));
  return geometry;
}

/** The place of a drop in the cube around the eye, and how visible it is there. */
const PLACE = /* glsl */ `
  uniform vec3 eye, offset, velocity;
  uniform float seconds;
  attribute float end;
  varying float vAlpha;
  vec3 placed(vec3 sway) {
    vec3 way = position * ${CUBE_M.toFixed(1)} + offset + sway - eye;
    vec3 near = mod(way, ${CUBE_M.toFixed(1)}) - ${(CUBE_M / 2).toFixed(1)};
    // Drops fade in at the border of the cube, and before they would cover the picture.
    float far = length(near);
    vAlpha = (1.0 - smoothstep(${(CUBE_M / 3).toFixed(1)}, ${(CUBE_M / 2).toFixed(1)}, far)) * smoothstep(0.3, 1.2, far);
    return eye + near;
  }`;

function createRain(): Fall {
  return new Fall(
    DROPS_MAX,
    2,
    /* glsl */ `${PLACE}
    void main() {
      vec3 at = placed(vec3(0.0)) - velocity * ${STREAK_S} * end;
      vAlpha *= 1.0 - 0.8 * end;
      gl_Position = projectionMatrix * viewMatrix * vec4(at, 1.0);
    }`,
    /* glsl */ `
    uniform float strength;
    varying float vAlpha;
    void main() {
      gl_FragColor = vec4(0.78, 0.84, 0.92, vAlpha * (0.3 + 0.25 * strength));
    }`,
  );
}

function createSnow(): Fall {
  return new Fall(
    FLAKES_MAX,
    1,
    /* glsl */ `${PLACE}
    void main() {
      vec3 sway = 0.35 * vec3(sin(seconds * 1.1 + position.y * 40.0), 0.0, cos(seconds * 0.9 + position.x * 40.0));
      vec4 at = viewMatrix * vec4(placed(sway), 1.0);
      gl_Position = projectionMatrix * at;
      gl_PointSize = clamp((50.0 + 60.0 * position.z) / -at.z, 1.5, 14.0);
    }`,
    /* glsl */ `
    uniform float strength;
    varying float vAlpha;
    void main() {
      float edge = 1.0 - smoothstep(0.5, 1.0, 2.0 * length(gl_PointCoord - 0.5));
      gl_FragColor = vec4(0.97, 0.98, 1.0, edge * vAlpha * 0.9);
    }`,
  );
}
