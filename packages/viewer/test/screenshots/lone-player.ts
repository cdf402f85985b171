import type { CDPSession, Page } from "playwright-core";

/** The devices by which a person plays. */
export type Device = "keyboard" | "touch" | "gamepad";

/** A goal in a world: the action and its key are used near the goal. */
interface Goal {
  readonly to: readonly [number, number, number];
  readonly action?: string;
  readonly key?: string;
  /** The player stops this many metres before the goal, and points at it. Otherwise the player walks into the goal. */
  readonly stopM?: number;
}

/** A place in the picture, in CSS pixels. */
interface Point {
  readonly x: number;
  readonly y: number;
}

type IsMeant = (attributes: Readonly<Record<string, unknown>>, place: Goal["to"]) => boolean;

declare global {
  interface Window {
    /** Returns the nearest entity of a kind, without the own avatar. */
    nearest(kind: string, isMeant?: IsMeant): Goal["to"];
    pad: { axes: number[]; buttons: { pressed: boolean }[] };
  }
}

/** What a person does in each world. The functions run in the page. */
const GOALS: Readonly<Record<string, () => Goal>> = {
  asteroids: () => ({ to: window.nearest("crystal") }),
  builders: () => ({ to: window.nearest("plan"), action: "use_item", key: "left", stopM: 3 }),
  "capture-the-flag": () => {
    const { avatar, screen } = window.nowcast.world!;
    const own = String(screen.get("team"));
    if (avatar?.attributes["flag"] != null) return { to: [own === "red" ? -26 : 26, 0, 0] };
    return { to: window.nearest("flag", ({ team }) => team !== own), action: "tackle", key: "KeyF" };
  },
  football: () => ({ to: window.nearest("ball"), action: "kick", key: "KeyF" }),
  gallery: () => {
    const { avatar, screen } = window.nowcast.world!;
    const seen = Number.parseInt(String(screen.get("pictures")), 10);
    const [x, , z] = avatar?.position ?? [0, 0, 0];
    if (seen < 2) return { to: [seen === 0 ? -3 : 3, 0, 11.6] };
    // The posts of the porch are beside the way in.
    if (z > 4 && Math.abs(x) > 1) return { to: [z > 8 ? 0 : x, 0, 9.5] };
    if (z > 4) return { to: [0, 0, 2] };
    if (seen < 4) return { to: [2, 0, seen === 2 ? -3.6 : -9] };
    return { to: [-0.5, 0, -11], action: "draw", key: "left" };
  },
  "obstacle-race": () => {
    const passed = Number.parseInt(String(window.nowcast.world!.screen.get("gate")), 10);
    return { to: window.nearest("gate", ({ number }) => number === passed + 1) };
  },
  party: () => {
    const [turn, coin] = [performance.now() / 1500, window.nearest("coin")];
    return { to: coin[1] > 0 ? coin : [6 * Math.cos(turn), 0, 6 * Math.sin(turn)] };
  },
  robots: () => {
    const { avatar } = window.nowcast.world!;
    const isLoose: IsMeant = (_attributes, [x, , z]) => Math.hypot(x, z) > 1.2;
    // An arm that holds a block shows its mark.
    const hasBlock = window.nearest("mark", ({ hidden }) => hidden !== true)[1] > 0;
    if (avatar?.attributes["arm"] == null || !hasBlock)
      return { to: window.nearest("block", isLoose), action: "take", key: "KeyE" };
    return { to: window.nearest("pallet"), action: "put", key: "KeyQ" };
  },
  shop: () => {
    const { avatar, screen } = window.nowcast.world!;
    const slots = (screen.get("slots") as { slots: { label: string; count?: number }[] }).slots;
    const apples = slots.find(({ label }) => label === "Apple")?.count ?? 0;
    const { coins = 0 } = (screen.get("score") ?? {}) as { coins?: number };
    if (coins >= 6) return { to: window.nearest("ware"), action: "buy", key: "KeyE" };
    if (apples < 3) return { to: window.nearest("apple"), action: "pick", key: "KeyE" };
    const [x, , z] = avatar?.position ?? [0, 0, 0];
    // From behind the stalls, the way to the market is between two of them.
    if (z < -3.9) return { to: [Math.abs(x) > 4 || z > -5 ? 3.1 * Math.sign(x) : x, 0, -2.5] };
    return { to: [0, 0, -3.4], action: "sell", key: "KeyE" };
  },
  "tower-defence": () => {
    if (Number(window.nowcast.world!.screen.get("gold")) < 20)
      return { to: window.nearest("tower"), action: "next_wave", key: "KeyG" };
    // Plots show where the first tower can stand.
    const plot = window.nearest("plot");
    return { to: plot[2] === 0 ? window.nearest("slab") : plot, action: "build", key: "KeyE" };
  },
};
const ANYWHERE = (): Goal => ({ to: window.nearest("block"), action: "grab", key: "KeyE" });

/** Walks to the goals of a world, and uses the world's action there. */
export class LonePlayer {
  readonly #page: Page;
  readonly #world: string;
  readonly #hands: Hands;

  private constructor(page: Page, world: string, hands: Hands) {
    [this.#page, this.#world, this.#hands] = [page, world, hands];
  }

  static async create(page: Page, world: string, device: Device): Promise<LonePlayer> {
    await page.evaluate(() => {
      window.nearest = (kind, isMeant) => {
        const { world } = window.nowcast;
        const own = world!.avatar?.position ?? [0, 0, 0];
        const far = ([x, , z]: Goal["to"]): number => Math.hypot(x - own[0], z - own[2]);
        const places = [...world!.entities.values()]
          .filter(
            (one) =>
              one.kind.name === kind && (isMeant?.(one.attributes, one.position as Goal["to"]) ?? true),
          )
          .map(({ position }) => position as Goal["to"]);
        return places.sort((a, b) => far(a) - far(b))[0] ?? [0, 0, 0];
      };
    });
    const hands =
      device === "gamepad" ? new Pad(page) : device === "touch" ? await Fingers.on(page) : new Keys(page);
    return new LonePlayer(page, world, hands);
  }

  /** Plays until this many milliseconds after the time origin `since`. */
  async playUntil(since: number, ms: number): Promise<void> {
    while (Date.now() - since < ms) {
      const { to, action, key, stopM } = await this.#page.evaluate(GOALS[this.#world] ?? ANYWHERE);
      const way = await this.#page.evaluate(([x, y, z]) => {
        const { viewer, world } = window.nowcast;
        const own = world!.avatar?.position ?? [0, 0, 0];
        const turn = Math.atan2(own[0] - x, own[2] - z) - viewer.controls.camera.yaw;
        const { lens } = viewer.controls.camera;
        const seen = lens.position.clone().set(x, y, z).project(lens);
        return {
          turn: Math.atan2(Math.sin(turn), Math.cos(turn)),
          metres: Math.hypot(x - own[0], z - own[2]),
          seen: { x: ((seen.x + 1) / 2) * innerWidth, y: ((1 - seen.y) / 2) * innerHeight },
        };
      }, to);
      if (Math.abs(way.turn) > 0.25) await this.#hands.turn(way.turn);
      await this.#hands.walk(way.metres > (stopM ?? 0.8));
      await this.#page.waitForTimeout(120);
      if (way.metres > Math.max(3, 1.5 * (stopM ?? 0)) || action === undefined) continue;
      const { width, height } = this.#page.viewportSize()!;
      const ahead = { x: width * 0.55, y: height * 0.62 };
      await this.#hands.press(action, key!, stopM === undefined ? ahead : way.seen);
    }
    await this.#hands.walk(false);
  }
}

interface Hands {
  /** Looks to the left by this angle in radians. */
  turn(radians: number): Promise<void>;
  /** Runs forward from now on, or stands. */
  walk(walks: boolean): Promise<void>;
  /** Uses an action, with the mouse or a finger at a place of the picture if it has neither a key nor a button. */
  press(action: string, key: string, at: Point): Promise<void>;
}

/** Radians that a key turns in a second, and that the gamepad's stick turns if it is pushed halfway. */
const [KEY_TURN, PAD_TURN] = [2.2, 1.3];
const RADIANS_PER_PIXEL = 0.0062;

class Keys implements Hands {
  constructor(readonly page: Page) {}

  turn(radians: number): Promise<void> {
    const delay = (Math.abs(radians) / KEY_TURN) * 1000;
    return this.page.keyboard.press(radians > 0 ? "Comma" : "Period", { delay });
  }

  async walk(walks: boolean): Promise<void> {
    for (const key of ["KeyW", "ShiftLeft"]) await this.page.keyboard[walks ? "down" : "up"](key);
  }

  async press(_action: string, key: string, { x, y }: Point): Promise<void> {
    if (key !== "left") return this.page.keyboard.press(key, { delay: 250 });
    await this.page.mouse.click(x, y);
  }
}

class Fingers implements Hands {
  #walks = false;

  private constructor(
    readonly page: Page,
    readonly session: CDPSession,
  ) {}

  static async on(page: Page): Promise<Fingers> {
    return new Fingers(page, await page.context().newCDPSession(page));
  }

  async turn(radians: number): Promise<void> {
    await this.walk(false);
    const { width } = this.page.viewportSize()!;
    let left = -radians / RADIANS_PER_PIXEL;
    while (Math.abs(left) > 1) {
      const way = Math.max(-width / 4, Math.min(width / 4, left));
      await this.#drag(way);
      left -= way;
    }
  }

  async #drag(way: number): Promise<void> {
    const { width, height } = this.page.viewportSize()!;
    const finger = { x: width * 0.75, y: height * 0.4 };
    await this.#send("touchStart", finger);
    // Until the target under a new finger is known, its moves do not turn the camera.
    await this.page.waitForTimeout(80);
    for (let share = 0; share <= 1; share += 0.2)
      await this.#send("touchMove", { ...finger, x: finger.x + way * share });
    await this.#send("touchEnd");
  }

  async walk(walks: boolean): Promise<void> {
    if (walks === this.#walks) return;
    this.#walks = walks;
    const { width, height } = this.page.viewportSize()!;
    const thumb = { x: width * 0.2, y: height * 0.7 };
    if (!walks) return this.#send("touchEnd");
    await this.#send("touchStart", thumb);
    await this.#send("touchMove", { ...thumb, y: thumb.y - 60 });
  }

  async press(action: string, _key: string, { x, y }: Point): Promise<void> {
    await this.walk(false);
    const button = this.page.locator(`button[data-trigger="button ${action}"]`);
    // The button disappears with its target, and Playwright would wait for it for half of the minute.
    if (await button.isVisible()) return button.tap({ timeout: 500 }).catch(() => undefined);
    await this.page.touchscreen.tap(x, y);
  }

  async #send(
    type: "touchStart" | "touchMove" | "touchEnd",
    point?: { x: number; y: number },
  ): Promise<void> {
    await this.session.send("Input.dispatchTouchEvent", { type, touchPoints: point ? [point] : [] });
  }
}

class Pad implements Hands {
  constructor(readonly page: Page) {}

  turn(radians: number): Promise<void> {
    return this.page.evaluate(
      async ([side, ms]) => {
        window.pad.axes[2] = -0.5 * side;
        await new Promise((resolve) => setTimeout(resolve, ms));
        window.pad.axes[2] = 0;
      },
      [Math.sign(radians), (Math.abs(radians) / PAD_TURN) * 1000] as const,
    );
  }

  walk(walks: boolean): Promise<void> {
    return this.page.evaluate((forward) => {
      window.pad.axes[1] = -forward;
    }, Number(walks));
  }

  press(action: string): Promise<void> {
    return this.page.evaluate(async (trigger) => {
      const { padTriggers } = window.nowcast.viewer.controls.inputs;
      const button = [...padTriggers].find(([, wanted]) => wanted === trigger)?.[0];
      if (button === undefined) return;
      window.pad.buttons[button]!.pressed = true;
      await new Promise((resolve) => setTimeout(resolve, 250));
      window.pad.buttons[button]!.pressed = false;
    }, `button ${action}`);
  }
}

/** Plugs in a gamepad. Runs in the page before its own script. */
export function plugInPad(): void {
  const buttons = Array.from({ length: 17 }, () => ({ pressed: false }));
  const pad = { index: 0, id: "pad", connected: true, mapping: "standard", axes: [0, 0, 0, 0], buttons };
  window.pad = pad;
  Object.assign(navigator, { getGamepads: () => [pad] });
  addEventListener("load", () =>
    window.dispatchEvent(Object.assign(new Event("gamepadconnected"), { gamepad: pad })),
  );
}
