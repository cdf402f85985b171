import { element } from "../dom.js";
import { oneOf, parseHz } from "../settings.js";
import type { Viewer } from "../viewer.js";
import { TRANSPORTS } from "../world-connection.js";

/** The dialog in which a person changes settings; each takes effect as it is changed. */
export class SettingsPanel {
  private readonly dialog = element("settings", HTMLDialogElement);
  private readonly name = element("set-name", HTMLInputElement);
  private readonly transport = element("set-transport", HTMLSelectElement);
  private readonly hz = element("set-hz", HTMLSelectElement);
  private readonly quality = element("set-quality", HTMLSelectElement);
  private readonly light = element("set-light", HTMLSelectElement);
  private readonly shadows = element("set-shadows", HTMLInputElement);
  private readonly sound = element("set-sound", HTMLInputElement);
  private readonly look = element("set-look", HTMLInputElement);
  private readonly invert = element("set-invert", HTMLInputElement);
  private readonly gyroscope = element("set-gyroscope", HTMLInputElement);
  private readonly vrWalk = element("set-vr-walk", HTMLInputElement);
  private readonly vrSmoothTurn = element("set-vr-turn", HTMLInputElement);
  private readonly vrVignette = element("set-vr-vignette", HTMLInputElement);

  constructor(
    private readonly viewer: Viewer,
    onLeave: () => void,
  ) {
    element("settings-open", HTMLButtonElement).addEventListener("click", () => this.open());
    element("set-leave", HTMLButtonElement).addEventListener("click", () => {
      this.dialog.close();
      onLeave();
    });
    this.dialog.addEventListener("change", () => this.apply());
    this.gyroscope.addEventListener("change", () => void this.lookAround());
    this.dialog.addEventListener("click", (event) => {
      // A click on what lies behind the dialog counts as one on the dialog itself.
      if (event.target === this.dialog) this.dialog.close();
    });
  }

  private open(): void {
    const { settings } = this.viewer;
    this.name.value = settings.name;
    this.transport.value = settings.transport;
    this.hz.value = String(settings.networkHz);
    // A rate from the page's address may be none of those on offer.
    if (this.hz.value === "") this.hz.add(new Option(String(settings.networkHz), undefined, true, true));
    this.quality.value = settings.quality;
    this.light.value = settings.light;
    this.shadows.checked = settings.shadows;
    this.sound.checked = settings.sound;
    this.look.value = String(settings.lookSpeed);
    this.invert.checked = settings.invertLook;
    this.vrWalk.checked = settings.vrWalk;
    this.vrSmoothTurn.checked = settings.vrSmoothTurn;
    this.vrVignette.checked = settings.vrVignette;
    element("set-about", HTMLElement).textContent = this.viewer.describeMachine();
    this.dialog.showModal();
  }

  /** Not kept for the next visit: phones ask their owners anew, and want a tap before they do. */
  private async lookAround(): Promise<void> {
    this.gyroscope.checked = await this.viewer.lookByGyroscope(this.gyroscope.checked);
  }

  private apply(): void {
    this.viewer.change({
      name: this.name.value.trim(),
      transport: oneOf(this.transport.value, TRANSPORTS, "session"),
      networkHz: parseHz(this.hz.value),
      quality: oneOf(this.quality.value, ["auto", "low", "medium", "high"], "auto"),
      light: oneOf(this.light.value, ["auto", "day", "dusk"], "auto"),
      shadows: this.shadows.checked,
      sound: this.sound.checked,
      lookSpeed: Number(this.look.value),
      invertLook: this.invert.checked,
      vrWalk: this.vrWalk.checked,
      vrSmoothTurn: this.vrSmoothTurn.checked,
      vrVignette: this.vrVignette.checked,
    });
    element("set-about", HTMLElement).textContent = this.viewer.describeMachine();
  }
}
