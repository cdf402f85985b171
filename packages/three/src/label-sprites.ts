import {
  CanvasTexture,
  Group,
  LinearFilter,
  type Object3D,
  Sprite,
  SpriteMaterial,
  SRGBColorSpace,
  Vector3,
} from "three";
import type { Labels, Writing } from "./labels.js";

const SHOWN_MAX = 24;
const REACH_M = 30;
const FONT_PX = 44;
const PADDING_PX = 18;
/**
 * Height of a text line in metres, one metre away. It grows with the distance, so the text stays
 * readable.
 */
const LINE_M = 0.035;
const LINE_M_MIN = 0.07;
const LINE_CHARACTERS_MAX = 34;
const LINES_MAX = 4;
/** Precedes the name of a player who speaks now. */
const SPEAKS = "\u{1f50a}";

interface Shown {
  readonly sprite: Sprite;
  /** The canvas of its picture. */
  text: string;
  lines: number;
  /** Width divided by height. */
  aspect: number;
}

/**
 * {@link Labels} as objects in the world, for headsets, in which page elements over the picture are
 * invisible. Each label is a small picture that faces the viewer. The nearest two dozen are shown.
 */
export class LabelSprites {
  readonly group = new Group();
  readonly #shown = new Map<number, Shown>();
  readonly #near: { id: number; writing: Writing; metres: number }[] = [];

  /** Draws the labels around a camera, except the name of `own`, the player's own avatar. */
  update(labels: Labels, camera: Object3D, own: number | undefined): void {
    camera.getWorldPosition(EYE);
    const near = this.#near;
    near.length = 0;
    for (const [id, writing] of labels.all) {
      const { x, y, z } = writing.bearer.position;
      const metres = POINT.set(x, y + writing.above, z).distanceTo(EYE);
      if (id !== own && metres < REACH_M) near.push({ id, writing, metres });
    }
    near.sort((a, b) => a.metres - b.metres);
    near.length = Math.min(near.length, SHOWN_MAX);
    const kept = new Set(near.map(({ id }) => id));
    for (const [id, shown] of this.#shown) {
      if (kept.has(id)) continue;
      this.#drop(shown);
      this.#shown.delete(id);
    }
    for (const { id, writing, metres } of near) this.#place(id, writing, metres);
  }

  dispose(): void {
    for (const shown of this.#shown.values()) this.#drop(shown);
    this.#shown.clear();
    this.group.removeFromParent();
  }

  #place(id: number, { name, said, speaks, bearer, above }: Writing, metres: number): void {
    let shown = this.#shown.get(id);
    if (!shown) {
      const sprite = new Sprite(new SpriteMaterial({ depthWrite: false, fog: false, toneMapped: false }));
      sprite.center.set(0.5, 0);
      sprite.renderOrder = 10;
      shown = { sprite, text: "", lines: 1, aspect: 1 };
      this.#shown.set(id, shown);
      this.group.add(sprite);
    }
    const title = speaks ? `${SPEAKS} ${name}` : name;
    const text = said === undefined ? title : `${title}\n${said}`;
    if (text !== shown.text) write(shown, text);
    const height = Math.max(LINE_M_MIN, LINE_M * metres) * shown.lines;
    shown.sprite.scale.set(height * shown.aspect, height, 1);
    shown.sprite.position.copy(bearer.position).y += above;
  }

  #drop({ sprite }: Shown): void {
    sprite.material.map?.dispose();
    sprite.material.dispose();
    this.group.remove(sprite);
  }
}

function write(shown: Shown, text: string): void {
  const [name = "", ...said] = text.split("\n");
  const lines = [name, ...wrapText(said.join(" "), LINE_CHARACTERS_MAX, LINES_MAX)];
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  if (!context) return;
  const font = `600 ${FONT_PX}px system-ui, sans-serif`;
  context.font = font;
  const width = Math.max(...lines.map((line) => context.measureText(line).width));
  canvas.width = Math.ceil(width + 2 * PADDING_PX);
  canvas.height = Math.ceil(lines.length * FONT_PX * 1.25 + PADDING_PX);
  // Changing the size of a canvas resets its font.
  context.font = font;
  context.fillStyle = "rgb(12 20 38 / 72%)";
  context.beginPath();
  context.roundRect(0, 0, canvas.width, canvas.height, PADDING_PX);
  context.fill();
  context.textBaseline = "middle";
  lines.forEach((line, i) => {
    context.fillStyle = i === 0 ? "#ffffff" : "#d7e6ff";
    context.fillText(line, PADDING_PX, PADDING_PX / 2 + (i + 0.5) * FONT_PX * 1.25);
  });
  const { material } = shown.sprite;
  material.map?.dispose();
  material.map = new CanvasTexture(canvas);
  material.map.colorSpace = SRGBColorSpace;
  material.map.minFilter = LinearFilter;
  material.map.generateMipmaps = false;
  material.needsUpdate = true;
  shown.text = text;
  shown.lines = lines.length;
  shown.aspect = canvas.width / canvas.height;
}

/** Wraps a text at this many characters, between words if possible; a text that is too long ends in "…". */
export function wrapText(text: string, charactersMax: number, linesMax: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).flatMap((word) => pieces(word, charactersMax))) {
    const longer = line === "" ? word : `${line} ${word}`;
    if ([...longer].length <= charactersMax) {
      line = longer;
      continue;
    }
    lines.push(line);
    line = word;
  }
  if (line !== "") lines.push(line);
  if (lines.length <= linesMax) return lines;
  const last = [...(lines[linesMax - 1] ?? "")].slice(0, charactersMax - 1).join("");
  return [...lines.slice(0, linesMax - 1), `${last}…`];
}

/** Splits a word that is longer than a line. */
function pieces(word: string, charactersMax: number): string[] {
  const characters = [...word];
  const parts: string[] = [];
  for (let i = 0; i < characters.length; i += charactersMax) {
    parts.push(characters.slice(i, i + charactersMax).join(""));
  }
  return parts;
}

const EYE = new Vector3();
const POINT = new Vector3();
