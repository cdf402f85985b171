/** Nowcast for Node: an endpoint that accepts channels. The other exports are in `nowcast`. */
export { fileIdentity } from "./file-identity.js";
export { Listener, type ListenOptions, listen } from "./listen.js";
export type { Publisher } from "./publisher.js";
export type { Service } from "./service.js";
