import { chromium } from "playwright-core";

/**
 * Starts Chromium for a measurement of the server at `origin`.
 *
 * @param {string} executablePath
 * @param {string} origin
 */
export function launchBrowser(executablePath, origin) {
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // WebTransport requires a secure context, and an emulated host's plain HTTP address is not one.
      `--unsafely-treat-insecure-origin-as-secure=${origin}`,
    ],
  });
}
