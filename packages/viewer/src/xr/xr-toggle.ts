/** "Enter VR" on the page. */
import { element } from "../dom.js";
import type { Viewer } from "../viewer.js";
import { words } from "../words.js";

/** Whether the user can enter with a headset; if not, the reason. */
export type HeadsetState = "ready" | "insecure" | "unknown" | "missing";

/** The properties of a page that decide whether it can use a headset. */
export interface HeadsetFacts {
  readonly isSecureContext: boolean;
  readonly xr: Pick<XRSystem, "isSessionSupported"> | undefined;
}

export async function readHeadsetState({ isSecureContext, xr }: HeadsetFacts): Promise<HeadsetState> {
  if (!isSecureContext) return "insecure";
  if (!xr) return "unknown";
  const isThere = await xr.isSessionSupported("immersive-vr").catch(() => false);
  return isThere ? "ready" : "missing";
}

/** The button on the page, and the text about headsets in the settings. */
export class XrToggle {
  readonly #button = element("vr-enter", HTMLButtonElement);
  readonly #about = element("vr-about", HTMLElement);
  #isBusy = false;
  readonly #viewer: Viewer;

  constructor(viewer: Viewer) {
    this.#viewer = viewer;
    this.#button.addEventListener("click", () => void this.#flip());
    navigator.xr?.addEventListener("devicechange", () => void this.look());
    void this.look();
  }

  /** Shows the available options. */
  async look(): Promise<void> {
    const state = await readHeadsetState({ isSecureContext: window.isSecureContext, xr: navigator.xr });
    this.#button.hidden = state !== "ready";
    this.#about.textContent = words.vrStates[state];
  }

  async #flip(): Promise<void> {
    const { controls, stage, hud } = this.#viewer;
    if (controls.headset) return controls.headset.end();
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      await stage.enterHeadset();
    } catch (error) {
      hud.say(words.vrFailed(error instanceof Error ? error.message : String(error)));
    } finally {
      this.#isBusy = false;
    }
  }
}
