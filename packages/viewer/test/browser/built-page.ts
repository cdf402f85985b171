import { existsSync, readFileSync, statSync } from "node:fs";
import { join, normalize } from "node:path";
import type { BrowserContext } from "playwright-core";

const FOLDER = process.env["NOWCAST_PAGE"];
const STUDIO_FOLDER = process.env["NOWCAST_STUDIO"];
const STUDIO = "/studio/";

/** Chromium would block a page served by a test from servers on this machine, because such a page has no address. */
export const BUILT_PAGE_FLAGS: readonly string[] =
  FOLDER === undefined && STUDIO_FOLDER === undefined ? [] : ["--disable-features=LocalNetworkAccessChecks"];

/**
 * Serves the page from the folder in `NOWCAST_PAGE` (`packages/viewer/dist`), and the studio from the folder in
 * `NOWCAST_STUDIO` (`packages/studio/dist`), instead of those inside the program, so that a newly built page is tested
 * without compiling the server. All other files, and the headers, come from the server.
 */
export async function serveBuiltPage(context: BrowserContext): Promise<void> {
  if (FOLDER === undefined && STUDIO_FOLDER === undefined) return;
  await context.route(
    (url) => fileOf(url.pathname) !== undefined,
    async (route) => {
      const { pathname, origin } = new URL(route.request().url());
      const file = fileOf(pathname)!;
      const isPage = /(?:index|room)\.html$/.test(file);
      // The server answers for pages itself; other files of the new page have names that the program does not know.
      const page = pathname.startsWith(STUDIO) ? STUDIO : "/";
      const answer = await route.fetch(isPage ? { maxRedirects: 0 } : { url: `${origin}${page}` });
      const isReplaced = !isPage || answer.headers()["content-type"]?.startsWith("text/html");
      if (!isReplaced) return route.fulfill({ response: answer });
      const contentType = TYPES[file.slice(file.lastIndexOf(".") + 1)] ?? "application/octet-stream";
      await route.fulfill({
        status: isPage ? answer.status() : 200,
        headers: { ...answer.headers(), "content-type": contentType },
        body: readFileSync(file),
      });
    },
  );
}

/** The file of a built page at a path; `undefined` if the server answers for it. */
function fileOf(pathname: string): string | undefined {
  const isOfStudio = pathname.startsWith(STUDIO);
  const folder = isOfStudio ? STUDIO_FOLDER : FOLDER;
  if (folder === undefined) return undefined;
  const path = isOfStudio ? pathname.slice(STUDIO.length) : pathname;
  const isFirst = path === (isOfStudio ? "" : "/");
  const isRoom = !isOfStudio && /^\/r\/[^/]*\/?$/.test(path);
  const file = join(folder, isFirst ? "index.html" : isRoom ? "room.html" : normalize(path));
  return existsSync(file) && statSync(file).isFile() ? file : undefined;
}

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};
