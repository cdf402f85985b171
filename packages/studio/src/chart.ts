/** Small charts in SVG. */

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

/** A line over time, with the highest value at its scale. */
export function lineChart(label: string, values: readonly (number | null)[], unit: string): SVGElement {
  const [width, height] = [300, 70];
  const top = roundUp(Math.max(0, ...values.filter((value) => value !== null)));
  const newest = values.filter((value) => value !== null).at(-1);
  const text = newest === undefined || newest === null ? "no values" : `now ${numberText(newest)} ${unit}`;
  return draw(
    "svg",
    {
      class: "chart",
      viewBox: `0 0 ${width} ${height + 36}`,
      role: "img",
      "aria-label": `${label}: ${text}`,
    },
    draw("text", { x: 6, y: 14 }, label),
    draw("text", { x: 6, y: 28 }, `${text} (scale ${numberText(top)})`),
    draw("path", {
      class: "line",
      d: linePath(values, width, height, top),
      transform: "translate(0 34)",
    }),
  );
}

export function numberText(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(1)} G`;
  if (size >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  return size >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toPrecision(3);
}
