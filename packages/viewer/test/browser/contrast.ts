import type { Page } from "playwright-core";

/**
 * The lowest contrast of a text with its background, as WCAG 2.2 defines it. Without an opaque background,
 * the world is behind the text. Then the contrast with white and with black is computed, and the lower
 * contrast is used. `selector` may end in `::placeholder`.
 */
export function contrasts(page: Page, selector: string): Promise<number> {
  return page.evaluate((wanted) => {
    type Color = readonly [number, number, number, number];
    const parse = (text: string): Color => {
      const [r = 0, g = 0, b = 0, a = 1] = (text.match(/[\d.]+/g) ?? []).map(Number);
      return [r, g, b, a];
    };
    const over = ([r, g, b, a]: Color, [R, G, B]: Color): Color => [
      r * a + R * (1 - a),
      g * a + G * (1 - a),
      b * a + B * (1 - a),
      1,
    ];
    const luminance = ([r, g, b]: Color): number => {
      const linear = [r, g, b].map((part) => {
        const share = part / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * linear[0]! + 0.7152 * linear[1]! + 0.0722 * linear[2]!;
    };
    const [main = "", pseudo] = wanted.split("::");
    const found = [...document.querySelectorAll(main)];
    if (found.length === 0) throw new Error(`nothing matches ${main}`);
    const ratios = found.flatMap((node) => {
      const layers: Color[] = [];
      for (let at: Element | null = node; at && at !== document.body; at = at.parentElement) {
        layers.unshift(parse(getComputedStyle(at).backgroundColor));
      }
      return [255, 0].map((shade) => {
        const ground = layers.reduce<Color>((below, layer) => over(layer, below), [shade, shade, shade, 1]);
        const ink = over(parse(getComputedStyle(node, pseudo && `::${pseudo}`).color), ground);
        const [light, dark] = [luminance(ink), luminance(ground)].sort((a, b) => b - a);
        return (light! + 0.05) / (dark! + 0.05);
      });
    });
    return Math.min(...ratios);
  }, selector);
}
