/** Two players turn voices on: one speaks into Chromium's fake microphone, which beeps, and the other receives it. */
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";

const worldAt = (name: string): string =>
  fileURLToPath(new URL(`../../../../worlds/${name}`, import.meta.url));

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  server = await ServerProcess.start(0, [worldAt("playground"), worldAt("football")]);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** Turns voices on in the settings, as a person does. */
async function turnOn({ page }: Visitor): Promise<void> {
  await page.locator("#settings-open").click();
  await page.locator("#set-voice").check();
  await waitFor("the microphone's button", () => page.locator("#microphone").isVisible());
}

const line = ({ page }: Visitor) => page.locator("#voice-people li").first();

async function hasClass(visitor: Visitor, name: string): Promise<boolean> {
  const classes = await line(visitor)
    .getAttribute("class", { timeout: 1000 })
    .catch(() => null);
  return classes?.split(" ").includes(name) ?? false;
}

it("connects near players, and only if both want it", async () => {
  const viewport = { width: 480, height: 360 };
  const ada = await Visitor.enter(browser, server, { name: "Ada", room: "playground", viewport });
  const ben = await Visitor.enter(browser, server, { name: "Ben", room: "playground", viewport });
  await turnOn(ada);
  expect(await hasClass(ada, "connected")).toBe(false);
  await turnOn(ben);
  for (const visitor of [ada, ben]) {
    await waitFor("the connection", () => hasClass(visitor, "connected"));
  }
  expect(await line(ben).locator("span").textContent()).toBe("Ada");

  // Both are muted, so both are silent. Then Ada's microphone beeps once a second.
  expect(await ada.page.locator("#microphone").getAttribute("aria-pressed")).toBe("false");
  expect(await hasClass(ben, "speaking")).toBe(false);
  await ada.page.evaluate(() => document.getElementById("microphone")!.click());
  await waitFor("Ada to be heard", () => hasClass(ben, "speaking"));
  expect(await ada.page.locator("#microphone").getAttribute("aria-pressed")).toBe("true");
  await waitFor("the sign at Ada's name", async () => {
    const marked = await ben.page.locator("#labels .speaking").count();
    return marked > 0;
  });

  // If one player blocks the other, they are disconnected, in both pages.
  await line(ben).locator('input[type="checkbox"]').check();
  for (const visitor of [ada, ben]) {
    await waitFor("the end of the connection", async () => !(await hasClass(visitor, "connected")));
  }
  await line(ben).locator('input[type="checkbox"]').uncheck();
  await waitFor("the connection again", () => hasClass(ben, "connected"));
  expect(ada.errors).toEqual([]);
  expect(ben.errors).toEqual([]);
});

it("is reported if a world forwards no voices", async () => {
  const visitor = await Visitor.enter(browser, server, { name: "Cleo", room: "football" });
  await visitor.page.locator("#settings-open").click();
  await visitor.page.locator("#set-voice").click();
  const notice = visitor.page.locator("#notice");
  await waitFor("the reason", async () => (await notice.textContent())?.includes("no voices"));
  expect(await visitor.page.locator("#set-voice").isChecked()).toBe(false);
  await visitor.leave();
});
