import type { Browser, BrowserContext, Page } from "playwright-core";
import { drawCoarsely } from "../../../viewer/test/browser/browser.js";
import { serveBuiltPage } from "../../../viewer/test/browser/built-page.js";

/** On a small machine a page waits long for its processor, because pictures are drawn by software. */
const WAIT_MS_MAX = 300_000;

export interface VisitorOptions {
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly colorScheme?: "dark" | "light";
  readonly tab?: string;
  /** The room to show; by default the studio chooses. */
  readonly room?: string;
  readonly hasTouch?: boolean;
  /** Draws all pixels of the room, for pictures that people look at. */
  readonly isSharp?: boolean;
  /** Runs in the page before its own script. */
  readonly before?: () => void;
}

/** A person with the studio open in a browser. */
export class StudioVisitor {
  readonly page: Page;
  /** Errors in the page, breaches of the content security policy included. */
  readonly errors: string[] = [];
  readonly #context: BrowserContext;

  private constructor(context: BrowserContext, page: Page) {
    this.#context = context;
    this.page = page;
    page.on("pageerror", (error) => this.errors.push(String(error)));
    page.on("console", (message) => {
      const isExpected =
        /WebSocket connection to|net::ERR_|Failed to load resource|WebTransport|GPU stall/.test(
          message.text(),
        );
      if (message.type() === "error" && !isExpected) this.errors.push(message.text());
    });
  }

  static async open(browser: Browser, url: string, options: VisitorOptions = {}): Promise<StudioVisitor> {
    const {
      viewport = { width: 1100, height: 560 },
      colorScheme = "light",
      tab = "world",
      hasTouch = false,
      isSharp = false,
      room,
      before,
    } = options;
    const context = await browser.newContext({ viewport: { ...viewport }, colorScheme, hasTouch });
    context.setDefaultTimeout(WAIT_MS_MAX);
    await serveBuiltPage(context);
    if (!isSharp) await drawCoarsely(context);
    if (before) await context.addInitScript(before);
    const visitor = new StudioVisitor(context, await context.newPage());
    const query = room === undefined ? "" : `?room=${encodeURIComponent(room)}`;
    await visitor.page.goto(`${url}${query}#${tab}`);
    await visitor.page.getByRole("tabpanel").waitFor();
    return visitor;
  }

  async leave(): Promise<void> {
    await this.#context.close();
  }

  async show(tab: string): Promise<void> {
    await this.page.getByRole("tab", { name: tab, exact: true }).click();
    await this.page.getByRole("tabpanel", { name: tab, exact: true }).waitFor();
  }

  /** The text of the status line. */
  message(): Promise<string> {
    return this.page.locator(".message").innerText();
  }

  /** Opens an entity by its number. */
  async select(id: number): Promise<void> {
    await this.page.getByRole("searchbox", { name: "Search entities" }).fill(`#${id}`);
    await this.page.locator(`#entity-${id}`).click();
    await this.page.getByRole("region", { name: "Entity" }).waitFor();
  }
}
