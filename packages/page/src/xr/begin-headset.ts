import type { Headset, HeadsetPage } from "./headset.js";

/**
 * Asks the user for a headset, and shows the world in it. The code for headsets is loaded meanwhile, because a browser allows
 * the request only right after a click. Rejected if the browser has no headset, or the user refuses.
 */
export async function beginHeadset(page: HeadsetPage): Promise<Headset> {
  if (navigator.xr === undefined) throw new Error("this browser cannot use headsets");
  const [session, { Headset }] = await Promise.all([
    navigator.xr.requestSession("immersive-vr", {
      requiredFeatures: ["local-floor"],
      optionalFeatures: ["hand-tracking"],
    }),
    import("./headset.js"),
  ]);
  return Headset.begin(page, session);
}
