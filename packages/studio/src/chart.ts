/** Small charts in SVG. */
import { make } from "./dom.js";

const NAMESPACE = "http://www.w3.org/2000/svg";

export function draw(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  ...children: (Node | string)[]
): SVGElement {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/** The smallest of 1, 2, 5, 10, … that is not below `value`. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((limit) => limit >= value * (1 - 1e-9)) ?? value;
}

/** The points of a line, as pieces between gaps. `x` runs from 0 to `width`, `y` from `height` (0) to 0 (`top`). */
export function linePath(
  values: readonly (number | null)[],
  width: number,
  height: number,
  top: number,
): string {
  let path = "";
  let isDown = false;
  const last = Math.max(1, values.length - 1);
  for (const [index, value] of values.entries()) {
    if (value === null || !Number.isFinite(value)) {
      isDown = false;
      continue;
    }
    const x = ((index / last) * width).toFixed(1);
    const y = (height - (Math.max(0, Math.min(value, top)) / top) * height).toFixed(1);
    path += `${isDown ? "L" : "M"}${x} ${y}`;
    isDown = true;
  }
  return path;
}

/** A line over time, with the newest value and the scale. `text` writes a value with its unit. */
export function lineChart(
  label: string,
  values: readonly (number | null)[],
  text: (value: number) => string,
): HTMLElement {
  const [width, height] = [300, 60];
  const known = values.filter((value) => value !== null);
  const newest = known.at(-1);
  const top = roundUp(Math.max(0, ...known));
  const shown = newest === undefined ? "–" : text(newest);
  const line = linePath(values, width, height, top);
  return make(
    "figure",
    { class: "chart line-chart" },
    make("figcaption", {}, make("span", {}, label), make("b", {}, shown)),
    draw(
      "svg",
      {
        viewBox: `0 0 ${width} ${height + 2}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `${label}: ${shown}, highest of the scale ${text(top)}`,
      },
      draw("path", { class: "area", d: areaPath(line, height) }),
      draw("path", { class: "line", d: line }),
    ),
    make("small", {}, `0 to ${text(top)}`),
  );
}

/** The area below a line of one or more pieces. */
function areaPath(line: string, height: number): string {
  const pieces = line.split("M").filter((piece) => piece.includes("L"));
  const xOf = (point: string): string => point.split(" ")[0]!;
  return pieces
    .map((piece) => {
      const points = piece.split("L");
      return `M${xOf(points[0]!)} ${height}L${points.join("L")}L${xOf(points.at(-1)!)} ${height}Z`;
    })
    .join("");
}

/** Counts as horizontal bars, without the empty buckets at the end. */
export function histogram(
  label: string,
  buckets: readonly { readonly label: string; readonly count: number }[],
): HTMLElement {
  const total = buckets.reduce((sum, { count }) => sum + count, 0);
  const last = Math.max(-1, ...buckets.map(({ count }, index) => (count > 0 ? index : -1)));
  const most = Math.max(1, ...buckets.map(({ count }) => count));
  const rows = buckets.slice(0, last + 1).map((bucket) => {
    const bar = make("i");
    bar.style.width = `${(bucket.count / most) * 100}%`;
    const share = `${((bucket.count / Math.max(1, total)) * 100).toFixed(1)} %`;
    return make(
      "li",
      {},
      make("span", {}, bucket.label),
      make("span", { class: "bar-track" }, bar),
      make("span", { class: "number" }, share),
    );
  });
  const empty = make("p", { class: "muted" }, "Nothing was measured yet.");
  return make(
    "section",
    { class: "histogram", "aria-label": label },
    make("h3", {}, label),
    total === 0 ? empty : make("ul", {}, ...rows),
  );
}

export function numberText(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(1)} G`;
  if (size >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  return size >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toPrecision(3);
}
