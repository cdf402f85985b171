import { type PerspectiveCamera, Vector3 } from "three";

const REACH_MAX_M = 46;
const REACH_MIN_M = 6;
const SHOWN_MAX = 36;
const BUBBLE_MS = 6500;
const BUBBLE_CHARACTERS_MAX = 100;
/** The height of a name, above which the bubble is. */
const ABOVE_TAG_PX = 30;
/** Distance of names from the sides of the picture. */
const MARGIN_PX = 4;
/** Room above a name for the tallest bubble. A bubble that would leave the picture is moved down. */
const BUBBLE_ROOM_PX = 118;
/** Height of a name in the picture, and the number of rows by which a name may move up. */
const ROW_PX = 25;
const ROWS_MAX = 4;
const CHARACTER_PX = 8.2;
const NAME_PX_MAX = 220;
const BUBBLE_PX_MAX = 240;
const BEHIND_OPACITY = 0.25;
/** An obstacle nearer to the label than this is its bearer, or something that the bearer holds. */
const NEAR_M = 1.2;

/** The anchor of a label. The label moves with it. */
interface Bearer {
  readonly position: Vector3;
}

/** The text and place of a label, for code that draws labels itself, for example in a headset. */
export interface Writing {
  readonly bearer: Bearer;
  /** Height above its bearer's centre, in metres. */
  readonly above: number;
  readonly name: string;
  /** The bearer's latest chat line. */
  readonly said: string | undefined;
  /** Whether its bearer speaks now. */
  readonly speaks: boolean;
}

interface Label {
  bearer: Bearer;
  /** Height above its bearer's centre, in metres. */
  above: number;
  readonly root: HTMLElement;
  readonly tag: HTMLElement;
  name: string;
  said: string | undefined;
  speaks: boolean;
  bubble: HTMLElement | undefined;
  bubbleEndsMs: number;
  shown: boolean;
  x: number;
  y: number;
  opacity: number;
  /** Whether an obstacle was between the eye and the label when it was last tested. */
  isBehind: boolean;
}

/** The obstacles that hide labels. */
export interface Blinds {
  /** Distance from a point along a unit direction to the nearest obstacle; `Infinity` if there is none. */
  cast(ox: number, oy: number, oz: number, dx: number, dy: number, dz: number): number;
}

/**
 * Labels above players and entities, and chat bubbles. They are page elements over the picture, so they are
 * sharp at any resolution. Their content is never markup. A page can style them by the classes `label`, `tag`
 * and `bubble`. In a headset they are invisible; {@link LabelSprites} draws them in the world instead.
 */
export class Labels {
  /** Height of a page's buttons at the upper edge of the picture, so names stay below the buttons. */
  topPx = 0;
  readonly #labels = new Map<number, Label>();
  /**
   * The distance up to which labels are shown. It decreases while many players are near, so that names
   * neither hide players nor cost much.
   */
  #reach = REACH_MAX_M;
  /** The labels that are placed in this frame. */
  readonly #placed: Label[] = [];
  /** The number of the label whose obstacles are tested in this frame. */
  #turn = 0;
  readonly #layer: HTMLElement | undefined;

  /** `layer` is an element over the picture, of the same size. Without it nothing is drawn. */
  constructor(layer: HTMLElement | undefined) {
    this.#layer = layer;
  }

  /** All current labels, by the id of their bearer. */
  get all(): ReadonlyMap<number, Writing> {
    return this.#labels;
  }

  /** Sets or changes the name above an entity. */
  set(id: number, name: string, bearer: Bearer, above: number): void {
    if (!this.#layer) return;
    const known = this.#labels.get(id);
    if (known) {
      known.tag.textContent = name;
      Object.assign(known, { bearer, above, name });
      return;
    }
    const root = document.createElement("div");
    root.className = "label";
    Object.assign(root.style, { position: "absolute", top: "0", left: "0", width: "0" });
    const tag = document.createElement("span");
    tag.className = "tag";
    Object.assign(tag.style, {
      position: "absolute",
      bottom: "0",
      translate: "-50% 0",
      whiteSpace: "nowrap",
    });
    tag.textContent = name;
    root.append(tag);
    root.hidden = true;
    this.#layer.append(root);
    this.#labels.set(id, {
      bearer,
      above,
      root,
      tag,
      name,
      said: undefined,
      speaks: false,
      bubble: undefined,
      bubbleEndsMs: 0,
      shown: false,
      x: 0,
      y: 0,
      opacity: 1,
      isBehind: false,
    });
  }

  remove(id: number): void {
    this.#labels.get(id)?.root.remove();
    this.#labels.delete(id);
  }

  clear(): void {
    for (const label of this.#labels.values()) label.root.remove();
    this.#labels.clear();
  }

  say(id: number, text: string, nowMs: number): void {
    const label = this.#labels.get(id);
    if (!label) return;
    label.bubble?.remove();
    const bubble = document.createElement("div");
    bubble.className = "bubble";
    Object.assign(bubble.style, {
      position: "absolute",
      bottom: `${ABOVE_TAG_PX}px`,
      translate: "-50% 0",
      width: "max-content",
      maxWidth: `${BUBBLE_PX_MAX}px`,
    });
    label.said = shorten(text);
    bubble.textContent = label.said;
    label.root.append(bubble);
    label.bubble = bubble;
    label.bubbleEndsMs = nowMs + BUBBLE_MS;
  }

  /** Marks a player who speaks by the class `speaking`. */
  setSpeaking(id: number, speaks: boolean): void {
    const label = this.#labels.get(id);
    if (!label) return;
    label.speaks = speaks;
    label.tag.classList.toggle("speaking", speaks);
  }

  /** Places the labels for this frame. Names move up to avoid each other, and fade behind `blinds`. */
  update(nowMs: number, camera: PerspectiveCamera, own: number | undefined, blinds?: Blinds): void {
    if (!this.#layer || this.#labels.size === 0) return;
    const { clientWidth: width, clientHeight: height } = this.#layer;
    camera.getWorldPosition(EYE);
    this.#turn = (this.#turn + 1) % this.#labels.size;
    let [shown, number] = [0, 0];
    for (const [id, label] of this.#labels) {
      forget(label, nowMs);
      // One label a frame is tested against the obstacles, because a ray costs more than the rest of a label.
      if (blinds && label.shown && number === this.#turn) label.isBehind = isHidden(label, blinds);
      number++;
      if (this.#place(label, camera, width, height, id === own, shown)) this.#placed[shown++] = label;
    }
    this.#placed.length = shown;
    if (shown > SHOWN_MAX) this.#reach = Math.max(REACH_MIN_M, this.#reach * 0.94);
    else if (shown < SHOWN_MAX * 0.7) this.#reach = Math.min(REACH_MAX_M, this.#reach * 1.02);
  }

  /**
   * Hides all labels and removes old chat lines. Called while a headset is used, in which these elements are invisible.
   */
  hide(nowMs: number): void {
    for (const label of this.#labels.values()) {
      forget(label, nowMs);
      label.shown = false;
      label.root.hidden = true;
    }
  }

  #place(
    label: Label,
    camera: PerspectiveCamera,
    width: number,
    height: number,
    own: boolean,
    shown: number,
  ): boolean {
    const { bearer } = label;
    POINT.copy(bearer.position).y += label.above;
    const distance = POINT.distanceTo(EYE);
    POINT.project(camera);
    const wanted =
      distance < this.#reach &&
      POINT.z < 1 &&
      Math.abs(POINT.x) < 1.1 &&
      Math.abs(POINT.y) < 1.2 &&
      (!own || label.bubble !== undefined);
    if (wanted !== label.shown) {
      label.shown = wanted;
      label.root.hidden = !wanted;
    }
    if (!wanted) return false;
    label.tag.hidden = own;
    const half = halfRoomOf(label) + MARGIN_PX;
    const x = Math.round(Math.max(half, Math.min((POINT.x * 0.5 + 0.5) * width, width - half)));
    const top = Math.max(this.topPx + ROW_PX, label.bubble ? BUBBLE_ROOM_PX : 0);
    const wantedY = Math.max(top, Math.round((0.5 - POINT.y * 0.5) * height));
    const y = this.#findFree(label, x, wantedY, top, shown);
    if (x !== label.x || y !== label.y) {
      label.x = x;
      label.y = y;
      label.root.style.transform = `translate(${x}px, ${y}px)`;
    }
    const near = Math.min(1, Math.max(0.25, 1.6 - (distance / this.#reach) * 1.4));
    const opacity = label.isBehind ? BEHIND_OPACITY : Math.round(near * 10) / 10;
    if (opacity !== label.opacity) {
      label.opacity = opacity;
      label.root.style.opacity = String(opacity);
    }
    return true;
  }

  /**
   * The nearest height at or above `y` at which a label overlaps none of the first `shown` placed labels. If all heights up to
   * `top` are taken, the nearest height below `y`.
   */
  #findFree(label: Label, x: number, y: number, top: number, shown: number): number {
    const halfWidth = halfWidthOf(label);
    let [free, step] = [y, -ROW_PX];
    for (let row = 0; row < ROWS_MAX; row++) {
      let isFree = true;
      for (let i = 0; i < shown && isFree; i++) {
        const other = this.#placed[i]!;
        isFree =
          Math.abs(other.y - free) >= ROW_PX || Math.abs(other.x - x) >= halfWidth + halfWidthOf(other);
      }
      if (isFree) return free;
      if (step < 0 && free + step < top) [free, step] = [y, ROW_PX];
      free += step;
    }
    return y;
  }
}

/** Half of the width of a name, by its characters. Measuring the element would make the browser lay out the page. */
function halfWidthOf({ name }: Label): number {
  return Math.min(NAME_PX_MAX, name.length * CHARACTER_PX + 20) / 2;
}

/** Half of the width of a name and its bubble. */
function halfRoomOf(label: Label): number {
  const bubble = Math.min(BUBBLE_PX_MAX, (label.said?.length ?? 0) * CHARACTER_PX + 24) / 2;
  return label.bubble ? Math.max(halfWidthOf(label), bubble) : halfWidthOf(label);
}

/** Whether an obstacle is between the eye and a label. */
function isHidden({ bearer, above }: Label, blinds: Blinds): boolean {
  POINT.copy(bearer.position).sub(EYE).y += above;
  const distance = POINT.length();
  if (distance < NEAR_M) return false;
  POINT.divideScalar(distance);
  return blinds.cast(EYE.x, EYE.y, EYE.z, POINT.x, POINT.y, POINT.z) < distance - NEAR_M;
}

function forget(label: Label, nowMs: number): void {
  if (!label.bubble || nowMs <= label.bubbleEndsMs) return;
  label.bubble.remove();
  label.bubble = undefined;
  label.said = undefined;
}

/**
 * The text is cut, because the chat log has the whole text. It is cut between characters, because a slice of
 * UTF-16 could leave half of a character.
 */
function shorten(text: string): string {
  const characters = [...text];
  return characters.length > BUBBLE_CHARACTERS_MAX
    ? `${characters.slice(0, BUBBLE_CHARACTERS_MAX - 1).join("")}…`
    : text;
}

const POINT = new Vector3();
const EYE = new Vector3();
