/** The shapes of bodies and looks: `nowcast/world` reads them. */

export {
  clamped,
  type Form,
  isFields,
  type Part,
  readForm,
  readVector,
  type Vector,
  within,
} from "nowcast/world";
