import type { Devices, LocalAvatar } from "@nowcast/page";
import type { Stage } from "./scene/stage.js";

/** The parts of the page that follow the window. */
export interface WindowParts {
  /** Set while a user wears a headset, whose size does not depend on the window. */
  readonly headset: object | undefined;
  readonly stage: Stage;
  readonly devices: Devices;
  readonly avatar: LocalAvatar;
}

/** Follows the size and the visibility of the window. */
export function followWindow(page: WindowParts): void {
  window.addEventListener("resize", () => {
    if (!page.headset) page.stage.resize();
  });
  // No frames are drawn while the page is hidden, so the released keys must be sent here.
  document.addEventListener("visibilitychange", () => {
    page.devices.release();
    page.avatar.sendInput();
  });
}
