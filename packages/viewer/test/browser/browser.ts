import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { World } from "nowcast/world";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { BUILT_PAGE_FLAGS, serveBuiltPage } from "./built-page.js";
import { emulateHeadset } from "./emulated-headset.js";

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/** The system's Chromium. These tests are never skipped: without Chromium they fail and name the cure. */
export function chromiumPath(): string {
  const given = process.env["NOWCAST_CHROMIUM"];
  const found =
    given ??
    (process.env["PATH"] ?? "")
      .split(delimiter)
      .flatMap((directory) => NAMES.map((name) => join(directory, name)))
      .find(existsSync);
  if (found === undefined || !existsSync(found)) {
    throw new Error(
      `the browser tests need Chromium${given === undefined ? "" : `, and ${given} is not there`}: ` +
        "`apt-get install chromium`, or set NOWCAST_CHROMIUM to its path",
    );
  }
  return found;
}

/**
 * A headless browser that draws WebGL by software, and does not slow down pages that are not in front. It keeps certificates in a
 * folder of its own, which ends with it.
 */
export async function launchBrowser(flags: readonly string[] = []): Promise<Browser> {
  const data = mkdtempSync(join(tmpdir(), "nowcast-chromium-"));
  const browser = await chromium.launch({
    executablePath: chromiumPath(),
    headless: true,
    env: { ...(process.env as Record<string, string>), XDG_DATA_HOME: data },
    args: [
      "--no-sandbox",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--disable-background-timer-throttling",
      "--disable-backgrounding-occluded-windows",
      "--disable-renderer-backgrounding",
      "--use-angle=swiftshader",
      "--enable-unsafe-swiftshader",
      "--ignore-gpu-blocklist",
      // A microphone that beeps, and whose use is always allowed.
      "--use-fake-device-for-media-stream",
      "--use-fake-ui-for-media-stream",
      ...BUILT_PAGE_FLAGS,
      ...flags,
    ],
  });
  browser.on("disconnected", () => rmSync(data, { recursive: true, force: true }));
  return browser;
}

/**
 * Lets the pages of a context draw a world with few pixels and without shadows. Software then needs a tenth of the time for a
 * frame. The layout of the page does not change. For tests that do not examine the drawn world.
 */
export async function drawCoarsely(context: BrowserContext): Promise<void> {
  await context.addInitScript((ratio) => {
    Object.defineProperty(window, "devicePixelRatio", { configurable: true, get: () => ratio });
    // An empty page has no storage.
    if (location.protocol.startsWith("http")) localStorage["nowcast.settings"] ??= '{"shadows":false}';
  }, COARSE_PIXEL_RATIO);
}

const COARSE_PIXEL_RATIO = 0.2;

/** Refuses all storage, as browsers do that block site data. Runs in the page, before its own script. */
export function blockSiteData(): void {
  for (const name of ["localStorage", "sessionStorage", "indexedDB", "caches"]) {
    Object.defineProperty(window, name, {
      get: () => {
        throw new DOMException("The operation is insecure.", "SecurityError");
      },
    });
  }
}

/** On a small machine a new tab loads slowly, because open tabs that draw by software use most of the processor. */
const LOADING_MS_MAX = 300_000;

export interface VisitorOptions {
  readonly name: string;
  readonly room: string;
  /** The path of the page, if it differs from the room's. */
  readonly path?: string;
  /** Use only this carrier. */
  readonly carrier?: "webtransport" | "websocket";
  readonly token?: string;
  /** The moment of the room's history to view. */
  readonly at?: string;
  /** Stays at the start screen. */
  readonly atStart?: boolean;
  /** The size of the window in CSS pixels. */
  readonly viewport?: { readonly width: number; readonly height: number };
  /** A phone: it has a touch screen and no mouse. */
  readonly hasTouch?: boolean;
  /** Draws all pixels of the world, for a test that examines them. */
  readonly isSharp?: boolean;
  /** Runs in the page before its own script. */
  readonly before?: () => void;
  /** Has a headset that the page knows, which the tests move: see `emulated-headset.ts`. */
  readonly hasHeadset?: boolean;
}

/** A player with a browser tab, in a world. */
export class Visitor {
  readonly page: Page;
  /** Addresses of all WebSockets that the page has opened. */
  readonly sockets: string[] = [];
  /** Errors in the page, breaches of the content security policy included. */
  readonly errors: string[] = [];
  /** All that the page and the browser printed to the console, except that software draws slowly. */
  readonly printed: string[] = [];
  readonly #context: BrowserContext;

  private constructor(context: BrowserContext, page: Page) {
    this.#context = context;
    this.page = page;
    page.on("websocket", (socket) => this.sockets.push(socket.url()));
    page.on("pageerror", (error) => this.errors.push(String(error)));
    page.on("console", (message) => {
      if (!/GPU stall due to ReadPixels/.test(message.text())) this.printed.push(message.text());
      // The browser logs an error for a lost or refused connection. Some tests cause such connections on purpose.
      const expected =
        /WebSocket connection to|net::ERR_|Failed to establish a connection|a status of 503/.test(
          message.text(),
        );
      if (message.type() === "error" && !expected) this.errors.push(message.text());
    });
  }

  /** Opens the page in a separate profile and waits until it is in the world and receives data. */
  static async enter(
    browser: Browser,
    server: Pick<ServerProcess, "url">,
    options: VisitorOptions,
  ): Promise<Visitor> {
    const visitor = await Visitor.knock(browser, server, options);
    await visitor.isIn();
    return visitor;
  }

  /** Opens the page in a separate profile, whether or not it is admitted. */
  static async knock(
    browser: Browser,
    server: Pick<ServerProcess, "url">,
    options: VisitorOptions,
  ): Promise<Visitor> {
    const viewport = options.viewport ?? { width: 800, height: 500 };
    const touch = options.hasTouch === true ? { hasTouch: true, isMobile: true } : {};
    const context = await browser.newContext({ viewport: { ...viewport }, ...touch });
    await serveBuiltPage(context);
    if (!options.isSharp) await drawCoarsely(context);
    if (options.before) await context.addInitScript(options.before);
    if (options.hasHeadset) await emulateHeadset(context);
    context.setDefaultNavigationTimeout(LOADING_MS_MAX);
    const visitor = new Visitor(context, await context.newPage());
    const query = new URLSearchParams({ name: options.name, quality: "low" });
    if (!options.atStart) query.set("enter", "1");
    if (options.carrier !== undefined) query.set("carrier", options.carrier);
    if (options.token !== undefined) query.set("token", options.token);
    if (options.at !== undefined) query.set("at", options.at);
    await visitor.page.goto(`${server.url}${options.path ?? `/r/${options.room}`}?${query}`);
    return visitor;
  }

  /** Waits for an open world of which a few snapshots have arrived. */
  async isIn(): Promise<void> {
    const isOpen = async (): Promise<boolean> => {
      const state = await this.page.evaluate(() => {
        // Before the page's script has run there is nothing yet.
        const world = (window as Partial<Window>).nowcast?.world;
        return world === undefined ? undefined : { status: world.status, entities: world.entities.size };
      });
      return state?.status === "open" && state.entities > 0;
    };
    await waitFor("the page to be in the world", isOpen, LOADING_MS_MAX);
    const { snapshots } = await this.stats();
    await waitFor("snapshots", async () => (await this.stats()).snapshots > snapshots + 3);
    await this.page.locator("#veil").waitFor({ state: "hidden", timeout: LOADING_MS_MAX });
  }

  stats(): Promise<World["stats"]> {
    return this.page.evaluate(() => window.nowcast.world!.stats);
  }

  async leave(): Promise<void> {
    await this.#context.close();
  }

  /** The avatar of the page's player. Its description may arrive after the first positions. */
  avatarId(): Promise<number> {
    const find = () =>
      this.page.evaluate(() => {
        const { avatarId, entities } = window.nowcast.world!;
        return [...entities.values()].find(({ id }) => id === avatarId)?.id as number | undefined;
      });
    return waitFor("the avatar of the page's player", find);
  }

  /** The last received position of an entity on this page. */
  position(id: number): Promise<readonly [number, number, number] | undefined> {
    return this.page.evaluate((wanted) => {
      for (const entity of window.nowcast.world!.entities.values()) {
        if (entity.id === wanted) return [...entity.position] as [number, number, number];
      }
      return undefined;
    }, id);
  }

  /** Position and quaternion of every block, as this page shows them now. */
  blocks(): Promise<{ readonly id: number; readonly position: number[]; readonly quaternion: number[] }[]> {
    return this.page.evaluate(() => {
      const { world } = window.nowcast;
      return [...world!.entities.values()]
        .filter((entity) => entity.kind.name === "block")
        .map((entity) => {
          const pose = { position: { x: 0, y: 0, z: 0 }, quaternion: { x: 0, y: 0, z: 0, w: 1 } };
          world!.pose(entity.id, pose);
          const { position, quaternion } = pose;
          return {
            id: entity.id as number,
            position: Object.values(position),
            quaternion: Object.values(quaternion),
          };
        });
    });
  }

  /** The name of the page's player. */
  ownName(): Promise<string | undefined> {
    return this.page.evaluate(() => {
      const { players, playerId } = window.nowcast.world!;
      return [...players.values()].find(({ id }) => id === playerId)?.name;
    });
  }

  /** The value of an attribute of one's own avatar. */
  ownAttribute(name: string): Promise<unknown> {
    return this.page.evaluate((wanted) => {
      const { world } = window.nowcast;
      const avatar = world!.avatarId;
      return avatar === undefined ? undefined : world!.entities.get(avatar)?.attributes[wanted];
    }, name);
  }

  /** Takes a picture with as many pixels of the world as in the quality `low`, also if the page draws coarsely. */
  async sharpPicture(path: string): Promise<Buffer> {
    const draw = (pixelRatio: number): Promise<void> =>
      this.page.evaluate(async (ratio) => {
        window.nowcast.viewer.stage.renderer.setPixelRatio(ratio);
        for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
      }, pixelRatio);
    await draw(0.7);
    const picture = await this.page.screenshot({ path });
    await draw(0.7 * COARSE_PIXEL_RATIO);
    return picture;
  }

  /** The step of the last received motion, and the newest received step. */
  quiet(): Promise<{ readonly lastMotion: number; readonly shown: number }> {
    return this.page.evaluate(() => {
      const { world } = window.nowcast;
      const ticks = [...world!.entities.values()].map((entity) => entity.tick);
      return { lastMotion: Math.max(...ticks), shown: world!.display.tick };
    });
  }

  /** Turns the camera as a hand with a mouse does. */
  async drag(dx: number, dy: number): Promise<void> {
    const { mouse } = this.page;
    await mouse.move(400, 250);
    await mouse.down();
    await mouse.move(400 + dx, 250 + dy, { steps: 5 });
    await mouse.up();
  }
}
