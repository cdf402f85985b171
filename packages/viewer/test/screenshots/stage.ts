import type { Page } from "playwright-core";

declare global {
  interface Window {
    /** Whether the world is drawn, after {@link drawForPicturesOnly}. */
    isDrawn: boolean;
  }
}

type Place = readonly [number, number, number];

/** A staged picture: where the camera stands and what it looks at. */
export interface Stage {
  readonly at: Place;
  readonly lookAt: Place;
  readonly fov?: number;
  /** Pixels of the picture for a CSS pixel. */
  readonly pixelRatio?: number;
}

/** Puts the camera of a page in a world, and hides everything that lies over the picture. */
export function stage(page: Page, { at, lookAt, fov = 46, pixelRatio = 1 }: Stage): Promise<void> {
  return page.evaluate(
    async ({ at, lookAt, fov, pixelRatio }) => {
      const { viewer } = window.nowcast;
      viewer.change({ quality: "medium", light: "day" });
      for (const id of ["hud", "labels"]) document.getElementById(id)!.style.visibility = "hidden";
      // The frame of the focus belongs to the keyboard.
      viewer.stage.canvas.blur();
      viewer.stage.renderer.setPixelRatio(pixelRatio);
      const rules = { mode: "fixed", at, lookAt, fov, seconds: 0, rail: undefined, on: undefined };
      viewer.controls.camera.setRules({
        ...rules,
        distance: undefined,
        min: undefined,
        max: undefined,
      } as never);
      for (let frame = 0; frame < 6; frame++) await new Promise(requestAnimationFrame);
    },
    { at, lookAt, fov, pixelRatio },
  );
}

/** Draws the world of a page only for pictures, so that several pages can play at once where software draws. */
export function drawForPicturesOnly(page: Page): Promise<void> {
  return page.evaluate(() => {
    const { renderer, scene } = window.nowcast.viewer.stage;
    const render = renderer.render.bind(renderer);
    window.isDrawn = false;
    // Other scenes are painted once: the sky.
    renderer.render = (shown, camera) => {
      if (window.isDrawn || shown !== scene) render(shown, camera);
    };
  });
}

/** Takes a screenshot of a page after `drawForPicturesOnly`. */
export async function takePicture(page: Page): Promise<Buffer> {
  await page.evaluate(async () => {
    window.isDrawn = true;
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  });
  const picture = await page.screenshot();
  await page.evaluate(() => {
    window.isDrawn = false;
  });
  return picture;
}
