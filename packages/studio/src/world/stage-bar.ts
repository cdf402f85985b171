import { button, make } from "../dom.js";
import { browserTexts } from "../storage.js";
import type { Layers } from "./room-view.js";

const STORED = "nowcast-studio-layers";

export interface StageBarListener {
  layers(layers: Layers): void;
  gizmo(mode: "translate" | "rotate"): void;
  /** Moves the camera to the selected entity. */
  frame(): void;
  /** Begins or ends following the selected entity. */
  follow(isOn: boolean): void;
}

/** The classes of the legend, with the names that the style sheet colours. */
const LEGEND = ["moving", "resting", "fixed", "kinematic", "sensor", "walker"] as const;

/** The buttons over the picture of a room, and the legend of its layers. */
export class StageBar {
  readonly element = make("div", { class: "stage-bar", role: "toolbar", "aria-label": "Picture" });
  readonly legend = make(
    "p",
    { class: "stage-legend", hidden: true },
    ...LEGEND.map((name) => make("span", {}, make("i", { class: `body-${name}` }), name)),
  );
  layers: Layers = readLayers();
  readonly #follow: HTMLButtonElement;
  readonly #frame: HTMLButtonElement;

  constructor(isEditor: boolean, listener: StageBarListener) {
    const layer = (name: keyof Layers, label: string, title: string): HTMLButtonElement => {
      const made = button(label, () => {
        this.layers = { ...this.layers, [name]: !this.layers[name] };
        browserTexts.setItem(STORED, JSON.stringify(this.layers));
        show();
        listener.layers(this.layers);
      });
      const show = (): void => {
        made.setAttribute("aria-pressed", String(this.layers[name]));
        this.legend.hidden = !this.layers.shapes;
      };
      made.title = title;
      show();
      return made;
    };
    this.#frame = button("Go to", () => listener.frame(), {
      title: "Move the camera to the selected entity",
    });
    this.#follow = button("Follow", () => listener.follow(this.#follow.ariaPressed !== "true"), {
      title: "Keep the camera at the selected entity",
    });
    const modes = isEditor ? this.#modes(listener) : [];
    this.element.append(
      layer("shapes", "Shapes", "The shapes of all bodies, by their motion"),
      layer("relations", "Relations", "Lines to what the selected entity touches, is joined or attached to"),
      layer("grid", "Grid", "Squares of one metre"),
      make("span", { class: "gap" }),
      this.#frame,
      this.#follow,
      ...modes,
    );
    this.selected = false;
    this.following = false;
  }

  set selected(isSelected: boolean) {
    this.#frame.disabled = !isSelected;
    this.#follow.disabled = !isSelected;
  }

  set following(isFollowing: boolean) {
    this.#follow.ariaPressed = String(isFollowing);
  }

  #modes(listener: StageBarListener): HTMLButtonElement[] {
    const made = (["translate", "rotate"] as const).map((mode) =>
      button(
        mode === "translate" ? "Move" : "Turn",
        () => {
          for (const other of made) other.setAttribute("aria-pressed", String(other === made[indexOf(mode)]));
          listener.gizmo(mode);
        },
        { "aria-pressed": String(mode === "translate"), title: `Drag the selected entity to ${mode} it` },
      ),
    );
    return made;
  }
}

function indexOf(mode: "translate" | "rotate"): number {
  return mode === "translate" ? 0 : 1;
}

function readLayers(): Layers {
  const standard = { shapes: false, relations: true, grid: false };
  try {
    const stored: unknown = JSON.parse(browserTexts.getItem(STORED) ?? "{}");
    const isOn = (name: keyof Layers): boolean => {
      const value = (stored as Record<string, unknown> | null)?.[name];
      return typeof value === "boolean" ? value : standard[name];
    };
    return { shapes: isOn("shapes"), relations: isOn("relations"), grid: isOn("grid") };
  } catch {
    return standard;
  }
}
