/** The sliders and switches of the lab. */
import { element } from "../dom.js";
import { type LabSettings, USUAL } from "./lab.js";

interface Slider {
  readonly name: "loss" | "roundTripMs" | "jitterMs" | "kilobitsPerSecond" | "keys";
  readonly label: string;
  readonly steps: readonly number[];
  readonly show: (value: number) => string;
}

const SLIDERS: readonly Slider[] = [
  {
    name: "loss",
    label: "Lost packets",
    steps: [0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2],
    show: (value) => `${+(value * 100).toFixed(1)} %`,
  },
  {
    name: "roundTripMs",
    label: "Round trip",
    steps: [10, 20, 30, 50, 80, 100, 150, 200, 300],
    show: (value) => `${value} ms`,
  },
  {
    name: "jitterMs",
    label: "Jitter, each way",
    steps: [0, 2, 5, 10, 20, 40, 80],
    show: (value) => `up to ${value} ms`,
  },
  {
    name: "kilobitsPerSecond",
    label: "Capacity",
    steps: [300, 400, 500, 600, 700, 800, 1_000, 2_000, 5_000, 10_000, 20_000],
    show: (value) => (value < 1_000 ? `${value} kbit/s` : `${value / 1_000} Mbit/s`),
  },
  { name: "keys", label: "States at 60 Hz", steps: [1, 5, 10, 20, 40, 70, 100], show: String },
];

export interface Preset {
  readonly label: string;
  readonly settings: Partial<LabSettings>;
}

export const PRESETS: readonly Preset[] = [
  { label: "Good link", settings: { loss: 0, jitterMs: 0 } },
  { label: "Wi-Fi", settings: {} },
  { label: "5 % lost", settings: { loss: 0.05 } },
  { label: "Narrow link", settings: { loss: 0, kilobitsPerSecond: 500 } },
  { label: "Far and lossy", settings: { loss: 0.05, roundTripMs: 200, jitterMs: 20 } },
];

/** Makes the form. `onChange` is called with the complete settings. */
export function makeControls(onChange: (settings: LabSettings) => void): HTMLElement {
  let settings = USUAL;
  const refreshers: (() => void)[] = [];
  const change = (changes: Partial<LabSettings>): void => {
    settings = { ...settings, ...changes };
    for (const refresh of refreshers) refresh();
    onChange(settings);
  };
  const sliders = SLIDERS.map((slider) => {
    const { made, refresh } = makeSlider(slider, () => settings, change);
    refreshers.push(refresh);
    return made;
  });
  const presets = PRESETS.map(({ label, settings: chosen }) => {
    const button = element("button", { type: "button" }, label);
    button.addEventListener("click", () => change({ ...USUAL, ...chosen }));
    return button;
  });
  const known = makeSwitch("TCP knows the capacity and ignores losses", (on) =>
    change({ congestion: on ? "known" : "cubic" }),
  );
  const replaces = makeSwitch("TCP's program replaces values that it has not written", (on) =>
    change({ tcpReplaces: on }),
  );
  const waits = makeSwitch("Events of the queue wait for the states before them", (on) =>
    change({ eventsWait: on }),
  );
  refreshers.push(
    () => known.set(settings.congestion === "known"),
    () => replaces.set(settings.tcpReplaces),
    () => waits.set(settings.eventsWait),
  );
  for (const refresh of refreshers) refresh();
  return element(
    "div",
    { class: "lab-controls" },
    element("div", { class: "lab-presets", role: "group", "aria-label": "Links" }, ...presets),
    element("div", { class: "lab-sliders" }, ...sliders),
    known.made,
    replaces.made,
    waits.made,
  );
}

function makeSlider(
  { name, label, steps, show }: Slider,
  settings: () => LabSettings,
  change: (changes: Partial<LabSettings>) => void,
): { made: HTMLElement; refresh: () => void } {
  const input = element("input", {
    type: "range",
    min: "0",
    max: String(steps.length - 1),
    "data-name": name,
  });
  const output = element("output");
  input.addEventListener("input", () => change({ [name]: steps[Number(input.value)]! }));
  const refresh = (): void => {
    const value = settings()[name];
    input.value = String(steps.indexOf(value));
    output.textContent = show(value);
    input.setAttribute("aria-valuetext", show(value));
  };
  const made = element("label", {}, element("span", {}, label, " ", output), input);
  return { made, refresh };
}

function makeSwitch(label: string, change: (on: boolean) => void) {
  const input = element("input", { type: "checkbox" });
  input.addEventListener("change", () => change(input.checked));
  const made = element("label", { class: "lab-switch" }, input, label);
  return {
    made,
    set: (on: boolean): void => {
      input.checked = on;
    },
  };
}
