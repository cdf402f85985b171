/** Nowcast for Node: an endpoint that accepts channels. The other exports are in `nowcast`. */
export type { AcceptorStats } from "./acceptor.js";
export type { Policy } from "./admission.js";
export { fileIdentity } from "./file-identity.js";
export { Listener, type ListenOptions, listen } from "./listen.js";
export type { Publisher, PublisherStats, TypedPublisher } from "./publisher.js";
export type { Service } from "./service.js";
export type { TokenKey } from "./token.js";
