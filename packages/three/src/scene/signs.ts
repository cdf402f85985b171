import {
  CanvasTexture,
  Color,
  Group,
  Mesh,
  MeshBasicMaterial,
  PlaneGeometry,
  Quaternion,
  SRGBColorSpace,
} from "three";
import { wrapText } from "../label-sprites.js";
import { darknessOf } from "./lamp.js";
import type { Prop } from "./prop.js";

/** Signs that are drawn at once. */
export const SIGNS_MAX = 64;
/** Texels of the longer edge of a sign. */
const TEXELS = 512;
const LINES_MAX = 8;
/** Share of the surface that the text leaves free at each edge. */
const MARGIN = 0.06;
/** Distance of the text from the surface, in metres. */
const ABOVE_M = 0.004;
/** Share of its own colour that the board of a sign has in the dark, whatever light falls on it. */
const SHINE = 0.6;
/** Width of a character, as a share of its height. */
const CHARACTER = 0.55;
const LINE = 1.2;
const FONT = "600 SIZEpx system-ui, sans-serif";

interface Sign {
  readonly mesh: Mesh<PlaneGeometry, MeshBasicMaterial>;
  readonly texture: CanvasTexture;
  readonly prop: Prop;
}

/**
 * Texts on the fronts of props: the field `sign` of a look. A text is drawn as text, never as markup. At dusk and at night, the
 * board behind a text shines, so that the text can be read.
 */
export class Signs {
  readonly group = new Group();
  readonly #signs = new Map<number, Sign>();

  get size(): number {
    return this.#signs.size;
  }

  /** Draws the sign of a prop, if it has one. Further signs than {@link SIGNS_MAX} are not drawn. */
  add(prop: Prop): void {
    const text = prop.body.appearance?.sign ?? "";
    if (text === "" || this.#signs.size >= SIGNS_MAX) return;
    const [width, height] = [2 * prop.halfX, 2 * prop.halfY];
    const texture = drawText(text, width, height, inkOn(prop.color));
    if (texture === undefined) return;
    const shine = { value: 0 };
    const material = createMaterial(texture, new Color(prop.color), shine);
    const mesh = new Mesh(new PlaneGeometry(width, height), material);
    mesh.onBeforeRender = (_renderer, scene) => {
      shine.value = SHINE * darknessOf(scene.background);
    };
    this.#signs.set(prop.id, { mesh, texture, prop });
    this.group.add(mesh);
    this.place(prop);
  }

  /** Moves the sign of a prop to its pose. */
  place(prop: Prop): void {
    const mesh = this.#signs.get(prop.id)?.mesh;
    if (mesh === undefined) return;
    mesh.position
      .set(0, 0, -prop.halfZ - ABOVE_M)
      .applyQuaternion(prop.quaternion)
      .add(prop.position);
    // A plane faces +Z, and the front of an entity is −Z.
    mesh.quaternion.copy(prop.quaternion).multiply(BACK);
  }

  remove(id: number): void {
    const sign = this.#signs.get(id);
    if (sign === undefined) return;
    this.#signs.delete(id);
    this.group.remove(sign.mesh);
    sign.mesh.geometry.dispose();
    sign.mesh.material.dispose();
    sign.texture.dispose();
  }

  clear(): void {
    for (const id of [...this.#signs.keys()]) this.remove(id);
  }
}

/** Draws a text in its own colours, and covers the rest of the board by a share of the board's colour. */
function createMaterial(
  map: CanvasTexture,
  board: Color,
  shine: { readonly value: number },
): MeshBasicMaterial {
  const material = new MeshBasicMaterial({ map, transparent: true, depthWrite: false });
  material.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, { board: { value: board }, shine });
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", "#include <common>\nuniform vec3 board;\nuniform float shine;")
      .replace(
        "#include <map_fragment>",
        `#include <map_fragment>
  float cover = mix(shine, 1.0, diffuseColor.a);
  diffuseColor = vec4(mix(board, diffuseColor.rgb, diffuseColor.a / max(cover, 0.001)), cover);`,
      );
  };
  return material;
}

/** Lines of a text on a surface, and the height of a line, in metres: as large as all lines fit. */
export function layOut(text: string, width: number, height: number): { lines: string[]; lineM: number } {
  const [wide, high] = [width * (1 - 2 * MARGIN), height * (1 - 2 * MARGIN)];
  let best = { lines: [] as string[], lineM: 0 };
  for (let count = 1; count <= LINES_MAX; count++) {
    const lineM = high / count / LINE;
    const characters = Math.max(1, Math.floor(wide / (lineM * CHARACTER)));
    const lines = wrapText(text, characters, count);
    const longest = Math.max(1, ...lines.map((line) => [...line].length));
    const fits = Math.min(high / lines.length / LINE, wide / (longest * CHARACTER));
    const isWhole = lines.join(" ").length >= text.trim().replace(/\s+/g, " ").length;
    if (isWhole && fits > best.lineM) best = { lines, lineM: fits };
    if (best.lines.length === 0 && count === LINES_MAX) best = { lines, lineM: fits };
  }
  return best;
}

function drawText(text: string, width: number, height: number, ink: string): CanvasTexture | undefined {
  const canvas = document.createElement("canvas");
  const texelsAMetre = TEXELS / Math.max(width, height);
  canvas.width = Math.max(8, Math.round(width * texelsAMetre));
  canvas.height = Math.max(8, Math.round(height * texelsAMetre));
  const pen = canvas.getContext("2d");
  if (pen === null) return undefined;
  const { lines, lineM } = layOut(text, width, height);
  const size = lineM * texelsAMetre;
  pen.font = FONT.replace("SIZE", size.toFixed(0));
  pen.fillStyle = ink;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const wide = canvas.width * (1 - 2 * MARGIN);
  for (const [index, line] of lines.entries()) {
    const y = canvas.height / 2 + (index - (lines.length - 1) / 2) * size * LINE;
    pen.fillText(line, canvas.width / 2, y, wide);
  }
  const texture = new CanvasTexture(canvas);
  texture.colorSpace = SRGBColorSpace;
  texture.anisotropy = 4;
  return texture;
}

/** Dark ink on light colours, light ink on dark ones. */
function inkOn(color: number): string {
  const [red, green, blue] = [(color >> 16) & 255, (color >> 8) & 255, color & 255];
  return 0.3 * red + 0.6 * green + 0.1 * blue > 140 ? "#1c2230" : "#ffffff";
}

const BACK = new Quaternion(0, 1, 0, 0);
