/** Bodies around one's own avatar, predicted by the server's physics. */

export {
  type BodyPredictor,
  type BodyPredictorOptions,
  type BodyPredictorStats,
  type BodySource,
  createBodyPredictor,
} from "./body-predictor.js";
export { BodyPredictionError, type BodyPredictionErrorCode } from "./errors.js";
