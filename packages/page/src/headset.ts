/** Parts for players with a headset: hands, presence, reach, teleport, a panel on the wrist. */

export { Headset } from "./xr/headset.js";
