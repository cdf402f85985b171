/** The parts of a session that learn whether the items of a packet were acknowledged or lost. */
import type { Handshake } from "./handshake.js";
import type { Lanes } from "./lanes.js";
import type { ItemOwners } from "./recovery.js";
import type { ReplicationLanes } from "./replication.js";
import type { SentPacket } from "./sent.js";

export class Owners implements ItemOwners {
  constructor(
    readonly lanes: Lanes,
    readonly handshake: Handshake,
    readonly replication: ReplicationLanes,
  ) {}

  arrived({ number, items }: SentPacket): void {
    for (const item of items) {
      if (item.type === "message") item.message.acknowledged(item.part, item.generation);
      else if (item.type === "replication") this.replication.settled(item.lane, number, true);
      else if (item.type === "proof") this.handshake.proof = undefined;
    }
  }

  lost({ number, items }: SentPacket): void {
    const { proof } = this.handshake;
    for (const item of items) {
      if (item.type === "message") item.message.lost(item.part, item.generation);
      else if (item.type === "window") this.lanes.windowLost(item.lane, item.consumed);
      else if (item.type === "replication") this.replication.settled(item.lane, number, false);
      else if (proof) proof.wasSent = false;
    }
  }
}
