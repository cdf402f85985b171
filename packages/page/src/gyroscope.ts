/** Looking around by moving the device. */

export { Gyroscope } from "./input/gyroscope.js";
