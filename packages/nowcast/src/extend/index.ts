/** Extends the SDK's prediction, for packages such as `@nowcast/predict-rapier`. Pages need `nowcast/world` alone. */

export type { PredictionCoupling, WalkerMotion } from "../world/prediction/coupling.js";
export type { Gait } from "../world/prediction/mover.js";
export { couplePrediction } from "../world/prediction/predictor.js";
