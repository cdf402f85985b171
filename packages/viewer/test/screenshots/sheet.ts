import { writeFileSync } from "node:fs";
import type { Browser } from "playwright-core";

const WIDTH_MAX = 1600;

/** Writes pictures of one size as one JPEG: two columns, or one row if they are upright. */
export async function writeSheet(browser: Browser, pictures: readonly Buffer[], path: string): Promise<void> {
  const blank = await browser.newPage();
  const data = await blank.evaluate(
    async ([urls, widthMax]) => {
      const images = await Promise.all(
        urls.map(async (url) => createImageBitmap(await (await fetch(url)).blob())),
      );
      const { width, height } = images[0]!;
      const columns = width > height ? 2 : images.length;
      const scale = Math.min(1, widthMax / (columns * width));
      const canvas = document.createElement("canvas");
      canvas.width = columns * width * scale;
      canvas.height = Math.ceil(images.length / columns) * height * scale;
      const context = canvas.getContext("2d")!;
      context.scale(scale, scale);
      for (const [at, image] of images.entries()) {
        context.drawImage(image, (at % columns) * width, Math.floor(at / columns) * height);
      }
      return canvas.toDataURL("image/jpeg", 0.85).split(",")[1]!;
    },
    [pictures.map((png) => `data:image/png;base64,${png.toString("base64")}`), WIDTH_MAX] as const,
  );
  await blank.close();
  writeFileSync(path, Buffer.from(data, "base64"));
}
