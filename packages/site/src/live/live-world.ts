/**
 * A room of the server that serves the documents (`nowcast serve --docs`), in a frame. A site from another server shows
 * nothing here.
 */
import { element } from "../dom.js";
import "./live-world.css";

/** The address of the site. A server with a base path writes its own address here. */
const BASE = import.meta.env.BASE_URL;
/** The room of readers. It shows the first world of the server. */
const ROOM = "docs";

interface WorldList {
  readonly worlds: readonly { readonly name: string }[];
}

export function mountLiveWorld(root: HTMLElement): () => void {
  // Only `nowcast serve --docs` serves the site at this address, so other hosts are not asked.
  if (BASE !== "/docs/") return () => undefined;
  root.classList.add("live-world-place");
  const abort = new AbortController();
  void firstWorld(abort.signal).then((world) => {
    if (world !== undefined) show(root, world);
    else root.classList.remove("live-world-place");
  });
  return () => abort.abort();
}

/** The name of the server's first world, or undefined if no Nowcast server serves this page. */
async function firstWorld(signal: AbortSignal): Promise<string | undefined> {
  try {
    const answer = await fetch(`${BASE}../api/worlds`, { signal });
    const list = answer.ok ? ((await answer.json()) as Partial<WorldList>) : undefined;
    return list?.worlds?.[0]?.name;
  } catch {
    return undefined;
  }
}

function show(root: HTMLElement, world: string): void {
  const address = `${BASE}../r/${ROOM}`;
  const second = element("a", { href: address, target: "_blank", rel: "noopener" }, "a second tab");
  root.replaceChildren(
    element("iframe", {
      class: "live-world",
      src: `${address}?enter=1`,
      loading: "lazy",
      title: `The world ${world}, live`,
      allow: "fullscreen; gamepad; xr-spatial-tracking",
    }),
    element(
      "p",
      { class: "live-world-text" },
      `This is the world ${world}, live from the server of this page. Open the same room in `,
      second,
      ", and both see each other.",
    ),
  );
}
