export { default } from "../../src/theme.js";
