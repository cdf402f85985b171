/**
 * A room of the server that serves the documents (`nowcast serve --docs`), in a frame. A site from another server shows
 * nothing here.
 */
import { element } from "../dom.js";
import "./live-world.css";

/** The address of the site. A server with a base path writes its own address here. */
const BASE = import.meta.env.BASE_URL;
/** The room of readers, whose name the page begins with the world's name. */
const ROOM = "docs";
/** A smaller window shows a picture and a link, because a frame in it would be too small to play in. */
const WINDOW_PX_MIN = 600;

interface WorldList {
  readonly worlds: readonly { readonly name: string }[];
}

export function mountLiveWorld(root: HTMLElement): () => void {
  // Only `nowcast serve --docs` serves the site at this address, so other hosts are not asked.
  if (BASE !== "/docs/") return () => undefined;
  const hasFrame = window.innerWidth >= WINDOW_PX_MIN;
  root.classList.toggle("live-world-place", hasFrame);
  const abort = new AbortController();
  void firstWorld(abort.signal).then((world) => {
    if (world === undefined) root.classList.remove("live-world-place");
    else if (hasFrame) root.replaceChildren(createFrame(world), createText(world));
    else root.replaceChildren(createText(world));
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

/** The address of the readers' room. */
function addressOf(world: string): string {
  return `${BASE}../r/${ROOM}?world=${world}`;
}

/** The world without the texts over it, which have no room here. */
function createFrame(world: string): HTMLElement {
  return element("iframe", {
    class: "live-world",
    src: `${addressOf(world)}&enter=1&hud=0`,
    loading: "lazy",
    title: `The world ${world}, live`,
    allow: "fullscreen; gamepad; xr-spatial-tracking",
  });
}

function createText(world: string): HTMLElement {
  const play = element(
    "a",
    { href: addressOf(world), target: "_blank", rel: "noopener" },
    `Play in ${world}`,
  );
  return element(
    "p",
    { class: "live-world-text" },
    play,
    " on the server of this page: everybody who reads this is in the same room.",
  );
}
