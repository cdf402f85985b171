import { wrapText } from "@nowcast/three/internal";
import { CanvasTexture, LinearFilter, Mesh, MeshBasicMaterial, PlaneGeometry, SRGBColorSpace } from "three";
import { clockText, sidesOf, textOf, wordOf } from "../hud/screen-text.js";
import { listed } from "../hud/screen-texts.js";

const WIDTH_PX = 640;
const HEIGHT_PX = 480;
const WIDTH_M = 0.26;
const LINE_PX = 34;
const LINE_CHARACTERS = 38;
const LIST_MAX = 5;
const CHAT_MAX = 4;

/** A line of the panel, and its kind. */
export interface PanelLine {
  readonly text: string;
  readonly kind: "title" | "message" | "plain" | "chat";
}

/** The contents of the panel. */
export interface PanelContents {
  /** The world's screen texts. */
  readonly screen: ReadonlyMap<string, unknown>;
  /** The last lines of chat, the oldest first. */
  readonly chat: readonly string[];
  /** A message of the page, for example that the connection is lost. */
  readonly notice: string;
}

/** Returns everything that a screen would show over the picture, as lines of text. */
export function panelLines({ screen, chat, notice }: PanelContents): readonly PanelLine[] {
  const lines: PanelLine[] = [];
  const add = (kind: PanelLine["kind"], text: string, linesMax: number): void => {
    for (const line of wrapText(text, LINE_CHARACTERS, linesMax)) lines.push({ kind, text: line });
  };
  const score = sidesOf(screen.get("score")).map(({ name, value }) =>
    name === "" ? value : `${name} ${value}`,
  );
  const clock = screen.has("clock") ? clockText(screen.get("clock")) : "";
  add("title", [...score, clock].filter((part) => part !== "").join(" · "), 1);
  add("message", notice, 2);
  add("message", textOf(screen.get("message")), 2);
  add("plain", textOf(screen.get("prompt")), 1);
  add("plain", textOf(screen.get("notice")), 1);
  for (const [place, value] of listed(screen).slice(0, LIST_MAX)) {
    add("plain", `${wordOf(place)}: ${textOf(value)}`, 1);
  }
  for (const line of chat.slice(-CHAT_MAX)) add("chat", line, 2);
  return lines;
}

/**
 * Score, clock, messages and chat on a panel above a wrist. On a screen, the page shows these over the
 * picture.
 */
export class WristPanel {
  readonly mesh: Mesh<PlaneGeometry, MeshBasicMaterial>;
  readonly #canvas = document.createElement("canvas");
  readonly #texture: CanvasTexture;
  #drawn = "";

  constructor() {
    this.#canvas.width = WIDTH_PX;
    this.#canvas.height = HEIGHT_PX;
    this.#texture = new CanvasTexture(this.#canvas);
    this.#texture.colorSpace = SRGBColorSpace;
    this.#texture.minFilter = LinearFilter;
    this.#texture.generateMipmaps = false;
    const material = new MeshBasicMaterial({
      map: this.#texture,
      transparent: true,
      fog: false,
      toneMapped: false,
    });
    this.mesh = new Mesh(new PlaneGeometry(WIDTH_M, (WIDTH_M * HEIGHT_PX) / WIDTH_PX), material);
    this.mesh.renderOrder = 9;
    this.mesh.visible = false;
  }

  /** Draws changed contents. Returns whether there is anything to show. */
  write(contents: PanelContents): boolean {
    const lines = panelLines(contents);
    const key = lines.map(({ kind, text }) => `${kind} ${text}`).join("\n");
    if (key !== this.#drawn) {
      this.#drawn = key;
      this.#draw(lines);
    }
    return lines.length > 0;
  }

  dispose(): void {
    this.#texture.dispose();
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
    this.mesh.removeFromParent();
  }

  #draw(lines: readonly PanelLine[]): void {
    const context = this.#canvas.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, WIDTH_PX, HEIGHT_PX);
    const shown = lines.slice(-Math.floor((HEIGHT_PX - 40) / LINE_PX));
    const height = shown.length * LINE_PX + 40;
    context.fillStyle = "rgb(12 20 38 / 80%)";
    context.beginPath();
    context.roundRect(0, HEIGHT_PX - height, WIDTH_PX, height, 24);
    context.fill();
    context.textBaseline = "middle";
    shown.forEach(({ kind, text }, i) => {
      context.font = `${kind === "plain" || kind === "chat" ? 450 : 700} ${LINE_PX * 0.76}px system-ui, sans-serif`;
      context.fillStyle = COLORS[kind];
      context.fillText(text, 24, HEIGHT_PX - height + 20 + (i + 0.5) * LINE_PX, WIDTH_PX - 48);
    });
    this.#texture.needsUpdate = true;
  }
}

const COLORS = { title: "#ffffff", message: "#ffe08a", plain: "#d7e6ff", chat: "#b9f0d0" } as const;
