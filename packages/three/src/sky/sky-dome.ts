import {
  BackSide,
  LinearFilter,
  Mesh,
  MirroredRepeatWrapping,
  OrthographicCamera,
  PlaneGeometry,
  RepeatWrapping,
  Scene,
  ShaderMaterial,
  SphereGeometry,
  type WebGLRenderer,
  WebGLRenderTarget,
} from "three";
import type { SkyLook } from "./sky-look.js";
import { Stars } from "./stars.js";

const WIDTH = 1536;
const HEIGHT = 512;
/**
 * The painted strip reaches from this angle below the horizon to the zenith. Below it, the sky is a mirror image, which only
 * worlds without ground show.
 */
const LOWEST = -0.12;

/**
 * The sky, which is painted into a texture once for each look. Computing clouds from noise in every frame is
 * too slow on a software renderer, while one texture read is cheap everywhere.
 */
export class SkyDome {
  /** The painted sky, with the stars as its child. */
  readonly mesh: Mesh;
  readonly #stars = new Stars();
  readonly #target = new WebGLRenderTarget(WIDTH, HEIGHT, {
    depthBuffer: false,
    minFilter: LinearFilter,
    magFilter: LinearFilter,
    wrapS: RepeatWrapping,
    wrapT: MirroredRepeatWrapping,
  });

  constructor() {
    const material = new ShaderMaterial({
      side: BackSide,
      depthWrite: false,
      toneMapped: false,
      uniforms: { painted: { value: this.#target.texture } },
      vertexShader: /* glsl */ `
        varying vec2 vUv;
        void main() {
          vUv = vec2(uv.x, ((uv.y - 0.5) * 3.14159265 - (${LOWEST})) / (1.57079633 - (${LOWEST})));
          // The sky is drawn last, at the maximum depth, so that only visible pixels are computed.
          gl_Position = (projectionMatrix * vec4(mat3(viewMatrix) * position, 1.0)).xyww;
        }`,
      // The texture has final screen colours, so no conversion is needed.
      fragmentShader: /* glsl */ `
        uniform sampler2D painted;
        varying vec2 vUv;
        void main() {
          gl_FragColor = vec4(texture2D(painted, vUv).rgb, 1.0);
        }`,
    });
    this.mesh = new Mesh(new SphereGeometry(10, 64, 48), material);
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = 4;
    this.mesh.add(this.#stars.points);
  }

  /** Paints the sky of a look. Call it again after the renderer lost and restored its graphics context. */
  paint(renderer: WebGLRenderer, look: SkyLook): void {
    this.#stars.set(look.stars, look.haze);
    const brush = new ShaderMaterial({
      toneMapped: false,
      depthTest: false,
      uniforms: {
        sun: { value: look.sunDirection },
        zenith: { value: look.zenith },
        middle: { value: look.middle },
        horizon: { value: look.horizon },
        glow: { value: look.glow },
        cloud: { value: look.cloud },
        cloudShade: { value: look.cloudShade },
        haze: { value: look.haze },
      },
      vertexShader: "varying vec2 vUv; void main() { vUv = uv; gl_Position = vec4(position.xy, 0.0, 1.0); }",
      fragmentShader: PAINT,
    });
    const scene = new Scene();
    const quad = new Mesh(new PlaneGeometry(2, 2), brush);
    quad.frustumCulled = false;
    scene.add(quad);
    renderer.setRenderTarget(this.#target);
    renderer.render(scene, new OrthographicCamera());
    renderer.setRenderTarget(null);
    quad.geometry.dispose();
    brush.dispose();
  }

  dispose(): void {
    this.#stars.dispose();
    this.mesh.removeFromParent();
    this.mesh.geometry.dispose();
    (this.mesh.material as ShaderMaterial).dispose();
    this.#target.dispose();
  }
}

const PAINT = /* glsl */ `
  uniform vec3 sun, zenith, middle, horizon, glow, cloud, cloudShade;
  uniform float haze;
  varying vec2 vUv;

  float hash(vec2 p) { return fract(sin(dot(p, vec2(127.1, 311.7))) * 43758.5453); }
  float noise(vec2 p) {
    vec2 i = floor(p), f = fract(p);
    f = f * f * (3.0 - 2.0 * f);
    return mix(mix(hash(i), hash(i + vec2(1, 0)), f.x), mix(hash(i + vec2(0, 1)), hash(i + vec2(1, 1)), f.x), f.y);
  }
  float clouds(vec2 p) {
    float sum = 0.0, weight = 0.5;
    for (int octave = 0; octave < 6; octave++) {
      sum += weight * noise(p);
      p = mat2(1.6, 1.2, -1.2, 1.6) * p + 3.1;
      weight *= 0.5;
    }
    return sum;
  }

  void main() {
    float elevation = mix(${LOWEST}, 1.5707963, vUv.y);
    float azimuth = vUv.x * 6.2831853;
    vec3 d = vec3(-cos(azimuth) * cos(elevation), sin(elevation), sin(azimuth) * cos(elevation));
    float up = max(d.y, 0.0);
    float toSun = max(dot(d, sun), 0.0);

    vec3 color = mix(horizon, middle, smoothstep(0.0, 0.24, up));
    color = mix(color, zenith, smoothstep(0.12, 0.85, up));

    color = mix(color, glow, 0.55 * pow(toSun, 6.0) * (1.0 - smoothstep(0.0, 0.7, up)));
    color += glow * (0.22 * pow(toSun, 48.0));

    // The clouds are a flat layer. The lower the ray, the farther away it meets the layer.
    if (haze > 0.0 && d.y > 0.015) {
      vec2 p = d.xz / (d.y + 0.12) * 1.15;
      float density = clouds(p + vec2(4.0, 1.5));
      float lit = clouds(p + vec2(4.0, 1.5) + sun.xz * 0.16);
      float cover = smoothstep(0.5, 0.74, density) * smoothstep(0.015, 0.16, d.y) * 0.9;
      vec3 shade = mix(cloud, cloudShade, clamp((lit - 0.42) * 2.6, 0.0, 1.0));
      shade = mix(shade, glow, 0.5 * pow(toSun, 8.0));
      color = mix(color, shade, cover);
    }
    // Heaps of cloud above the horizon: round above, flat below. The circle around the eye has no seam.
    if (haze > 0.0 && up > 0.02 && up < 0.42) {
      vec2 q = normalize(d.xz) * (5.2 + 12.0 * elevation);
      float heap = clouds(q + 11.0);
      float foot = smoothstep(0.045, 0.075, up);
      float top = 1.0 - smoothstep(0.1, 0.36, up);
      float cover = foot * smoothstep(0.5, 0.58, heap * (0.82 + 0.26 * top)) * top;
      float lit = smoothstep(-0.09, 0.14, heap - clouds(normalize(d.xz) * (5.6 + 12.0 * elevation) + 11.0));
      vec3 puff = mix(cloudShade, cloud, clamp(lit + 1.6 * (up - 0.08), 0.0, 1.0));
      puff = mix(puff, glow, 0.35 * pow(toSun, 8.0));
      color = mix(color, mix(horizon, puff, smoothstep(0.03, 0.14, up)), 0.9 * cover);
    }
    float disc = smoothstep(0.99905, 0.9994, dot(d, sun));
    color = mix(color, vec3(1.0, 0.985, 0.93), disc);
    // Noise with an amplitude below one of the 256 steps of a screen prevents bands in wide gradients.
    gl_FragColor = sRGBTransferOETF(vec4(color, 1.0));
    gl_FragColor.rgb += (hash(gl_FragCoord.xy) - 0.5) / 255.0;
  }`;
