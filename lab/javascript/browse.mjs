// Opens a server's lab page in Chromium, waits for its figures, and prints them as one line of JSON. `cargo xtask lab
// browser` runs this on a host of an emulated link. Arguments: the page's address, the browser's program, a file for a
// screenshot.
import { launchBrowser } from "./launch-browser.mjs";

const [address, executablePath, picture] = process.argv.slice(2);
if (address === undefined || executablePath === undefined)
  throw new Error("browse.mjs ADDRESS BROWSER [PICTURE]");
const { origin, searchParams } = new URL(address);
const expectedMs = Number(searchParams.get("samples")) * Number(searchParams.get("interval"));
const SERVER_MS = 15_000;
const SPARE_MS = 60_000;

const browser = await launchBrowser(executablePath, origin);
try {
  const page = await browser.newPage({ viewport: { width: 1100, height: 900 } });
  page.on("pageerror", (error) => console.error(`the page: ${error.message}`));
  // The server starts at the same time as the browser, so the first attempts may fail.
  const end = Date.now() + SERVER_MS;
  let response;
  for (;;) {
    try {
      response = await page.goto(address, { timeout: SERVER_MS });
      break;
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
  if (!response?.ok()) throw new Error(`${address} answers ${response?.status()}: ${await response?.text()}`);
  if ((await page.locator("h1", { hasText: "web client is not built" }).count()) > 0)
    throw new Error("this program was built without its web client: build it with `cargo xtask build`");
  await page.waitForSelector("body[data-result]", { timeout: expectedMs + SPARE_MS, state: "attached" });
  const result = JSON.parse(await page.evaluate(() => document.body.dataset.result ?? "null"));
  if (picture !== undefined) await page.screenshot({ path: picture, fullPage: true });
  console.log(JSON.stringify({ ...result, browser: `Chromium ${browser.version()}` }));
} finally {
  await browser.close();
}
