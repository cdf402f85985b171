import type { Page } from "playwright-core";

/** The content of a picture. */
export interface Richness {
  readonly width: number;
  readonly height: number;
  /** Different colours, with four bits a channel. */
  readonly colors: number;
  /** Share of the commonest colour. */
  readonly commonest: number;
  /** Difference between the 5th and the 95th percentile of luminance, 0 to 255. */
  readonly spread: number;
  /** Share of pixels that differ clearly from their right-hand neighbour: edges of objects. */
  readonly edges: number;
}

/** Analyses a PNG in a blank page. */
export function examine(blank: Page, png: Buffer): Promise<Richness> {
  return blank.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const { width, height } = bitmap;
    const context = new OffscreenCanvas(width, height).getContext("2d")!;
    context.drawImage(bitmap, 0, 0);
    const { data } = context.getImageData(0, 0, width, height);
    const counts = new Map<number, number>();
    const luminances = new Float64Array(width * height);
    let edges = 0;
    for (let i = 0; i < luminances.length; i++) {
      const [red, green, blue] = [data[i * 4]!, data[i * 4 + 1]!, data[i * 4 + 2]!];
      const color = ((red >> 4) << 8) | ((green >> 4) << 4) | (blue >> 4);
      counts.set(color, (counts.get(color) ?? 0) + 1);
      luminances[i] = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
      if (i % width > 0 && Math.abs(luminances[i]! - luminances[i - 1]!) > 12) edges++;
    }
    luminances.sort();
    const at = (share: number): number => luminances[Math.floor(share * (luminances.length - 1))]!;
    return {
      width,
      height,
      colors: counts.size,
      commonest: Math.max(...counts.values()) / luminances.length,
      spread: at(0.95) - at(0.05),
      edges: edges / luminances.length,
    };
  }, png.toString("base64"));
}

/** Returns the reason why a picture does not show a world with entities; `undefined` if it shows one. */
export function poverty({ colors, commonest, spread, edges }: Richness): string | undefined {
  if (colors < 60) return `only ${colors} colours`;
  if (commonest > 0.6) return `${Math.round(commonest * 100)} % of it is one colour`;
  if (spread < 40) return `its luminance spans only ${Math.round(spread)} of 255`;
  if (edges < 0.005) return "there are no edges in it";
  return undefined;
}
