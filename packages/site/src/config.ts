/** The configuration of VitePress. Building the site writes its pages first (`pages/stage.ts`). */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { defineConfig } from "vitepress";
import { llmsText } from "./pages/llms.js";
import { anchorOf } from "./pages/markdown.js";
import { SECTIONS } from "./pages/site-map.js";
import { stagePages } from "./pages/stage.js";

const HERE = fileURLToPath(new URL("..", import.meta.url));
const PAGES = join(HERE, ".pages");
const SDK = join(HERE, "../nowcast/src");
/** The address of the site below its host. `nowcast serve --docs` serves it at /docs/. */
const BASE = process.env.NOWCAST_DOCS_BASE ?? "/";
const OUTPUT = process.env.NOWCAST_DOCS_OUT ?? "dist";

const staged = stagePages(PAGES);
writeFileSync(join(PAGES, "public/llms.txt"), llmsText());

export default defineConfig({
  title: "Nowcast",
  description: "A real-time engine for shared virtual worlds: newest state first, events never lost",
  lang: "en",
  head: [["link", { rel: "icon", href: `${BASE}favicon.svg`, type: "image/svg+xml" }]],
  base: BASE,
  srcDir: ".pages",
  outDir: OUTPUT,
  cacheDir: ".vitepress/cache",
  // The pages have no date, so two builds of one commit have the same bytes.
  lastUpdated: false,
  cleanUrls: false,
  // A visitor reads few of the pages to which a page links, and all of them together are larger than the page.
  router: { prefetchLinks: false },
  markdown: {
    // Pages are files of the repository. They may name components, but contain no other markup.
    anchor: { slugify: anchorOf },
    image: { lazyLoading: true },
    theme: { light: "github-light", dark: "github-dark" },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: { level: [2, 3] },
    nav: SECTIONS.map(({ title, pages }) => ({ text: title, link: link(pages[0]!.address) })),
    sidebar: SECTIONS.map(({ title, pages }) => ({
      text: title,
      items: pages.map((page) => ({ text: page.title, link: link(page.address) })),
    })),
    footer: {
      message: "MIT or Apache-2.0. This site loads nothing from other servers and counts no visits.",
    },
  },
  vite: {
    publicDir: join(PAGES, "public"),
    resolve: {
      alias: [
        { find: /^nowcast$/, replacement: `${SDK}/index.ts` },
        { find: /^nowcast-session$/, replacement: `${SDK}/session/index.ts` },
        { find: /^nowcast\/(\w+)$/, replacement: `${SDK}/$1/index.ts` },
      ],
    },
    build: { chunkSizeWarningLimit: 4_000 },
  },
  // `nowcast serve --docs` sends the compressed files to browsers that accept them.
  buildEnd: ({ outDir }) => {
    for (const path of readdirSync(outDir, { recursive: true, encoding: "utf8" })) {
      if (!/\.(html|js|css|json|svg|txt|md)$/.test(path)) continue;
      const file = join(outDir, path);
      writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
    }
  },
  // Every other link was checked when the pages were written.
  ignoreDeadLinks: [/^\/files\//, /^\/llms/, ...[...staged.copies.keys()].map((path) => `/${path}`)],
});

function link(address: string): string {
  return `/${address.replace(/(^|\/)index$/, "$1")}`;
}
