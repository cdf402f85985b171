/**
 * Emulates a headset with IWER, which gives a page the WebXR of a headset's browser. The tests move the emulated
 * headset.
 */
import { createRequire } from "node:module";
import type { XRDevice } from "iwer";
import type { BrowserContext } from "playwright-core";

declare global {
  interface Window {
    /** The emulated headset of a page, with two controllers. */
    headset: XRDevice;
    IWER: typeof import("iwer");
  }
}

/** Gives every page of a context a headset that draws for two eyes, side by side. */
export async function emulateHeadset(context: BrowserContext): Promise<void> {
  const path = createRequire(import.meta.url).resolve("iwer/build/iwer.min.js");
  await context.addInitScript({ path });
  await context.addInitScript(() => {
    const { XRDevice, metaQuest3 } = window.IWER;
    window.headset = new XRDevice(metaQuest3, { stereoEnabled: true });
    window.headset.installRuntime({ forceInstall: true });
  });
}
