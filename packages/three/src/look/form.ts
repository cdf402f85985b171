/** The shapes of bodies and looks: `nowcast/world` reads them. */

export { type Form, isFields, type Part, readForm, readVector, type Vector } from "nowcast/world";
