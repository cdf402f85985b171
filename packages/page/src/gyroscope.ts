/** Looking around by moving the device. */

export { Gyroscope, type GyroscopeState, type Look, lookOf } from "./input/gyroscope.js";
