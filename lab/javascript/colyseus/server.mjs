// The peer of `cargo xtask lab load`: a room of Colyseus with avatars that walk at random, written as its manual and source
// suggest for speed. The walk is computed on plain arrays at 60 Hz, and only values of a patch are written to the
// state. Positions are centimetres in two bytes. Clients with an interest radius have a `StateView` that is updated
// four times a second, with hysteresis.
//
// Arguments: the folder with the packages, and a plan as JSON. It prints its address, and answers each line of standard
// input with its measurements since the previous one.
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

const STEP_HZ = 60;
const WALK_SPEED = 3.2;
/** Interval at which a quarter of the avatars turn, so that each avatar turns once a second. */
const TURN_MS = 250;
const TURN_PARTS = 4;
/** An avatar this much farther away than the radius is not visible any more. */
const HYSTERESIS = 1.1;

const [folder, planText] = process.argv.slice(2);
const plan = JSON.parse(planText);
const require = createRequire(resolve(folder, "package.json"));
const { Room, Server } = require("@colyseus/core");
const { Encoder, StateView, schema, t } = require("@colyseus/schema");
const { WebSocketTransport } = require("@colyseus/ws-transport");

// Reserves all memory, so that no buffer grows during a measurement.
Encoder.BUFFER_SIZE = 256 * 1024;

const Avatar = schema({ x: t.int16(), z: t.int16(), yaw: t.uint16() }, "Avatar");
const avatars = plan.radius === null ? t.map(Avatar) : t.map(Avatar).view();
// `at` is the first field: readers find it in the head of a patch.
const State = schema({ at: t.float64(), avatars }, "State");

/** The duration of each step and of each patch, in milliseconds. */
let took = [];
let room;

class Walkers extends Room {
  maxClients = 10_000;
  autoDispose = false;
  state = new State();
  x = new Float64Array(plan.avatars);
  z = new Float64Array(plan.avatars);
  yaw = new Float64Array(plan.avatars);
  told = [];
  joined = 0;
  steppedAt = 0n;

  onCreate() {
    room = this;
    for (let index = 0; index < plan.avatars; index++) {
      this.x[index] = between(-plan.half, plan.half);
      this.z[index] = between(-plan.half, plan.half);
      this.yaw[index] = between(-Math.PI, Math.PI);
      const avatar = new Avatar();
      this.told.push(avatar);
      this.state.avatars.set(String(index), avatar);
    }
    this.onMessage("input", (client, controls) => {
      client.userData.controls = controls;
    });
    this.patchRate = 1_000 / plan.hz;
    this.setSimulationInterval(() => this.step(), 1_000 / STEP_HZ);
    let part = 0;
    this.clock.setInterval(() => {
      this.turn(part);
      if (plan.radius !== null) for (const client of this.clients) this.lookOf(client);
      part = (part + 1) % TURN_PARTS;
    }, TURN_MS);
  }

  onJoin(client) {
    client.userData = { avatar: this.joined++ % plan.avatars, controls: null, seen: new Set() };
    if (plan.radius !== null) {
      client.view = new StateView();
      this.lookOf(client);
    }
  }

  step() {
    const started = performance.now();
    const { x, z, yaw } = this;
    for (let index = 0; index < x.length; index++) {
      x[index] -= (Math.sin(yaw[index]) * WALK_SPEED) / STEP_HZ;
      z[index] -= (Math.cos(yaw[index]) * WALK_SPEED) / STEP_HZ;
    }
    this.steppedAt = process.hrtime.bigint();
    took.push(performance.now() - started);
  }

  turn(part) {
    const { x, z, yaw } = this;
    for (let index = part; index < x.length; index += TURN_PARTS) {
      const isOutside = Math.max(Math.abs(x[index]), Math.abs(z[index])) > plan.half;
      yaw[index] = isOutside ? Math.atan2(x[index], z[index]) : between(-Math.PI, Math.PI);
    }
  }

  lookOf(client) {
    const { avatar: own, seen } = client.userData;
    const enters = plan.radius ** 2;
    const leaves = (plan.radius * HYSTERESIS) ** 2;
    for (let index = 0; index < this.x.length; index++) {
      const away = (this.x[index] - this.x[own]) ** 2 + (this.z[index] - this.z[own]) ** 2;
      if (seen.has(index) ? away > leaves : away > enters) {
        if (seen.delete(index)) client.view.remove(this.told[index]);
      } else if (!seen.has(index)) {
        seen.add(index);
        client.view.add(this.told[index]);
      }
    }
  }

  onBeforePatch(state) {
    state.at = Number(this.steppedAt);
    for (let index = 0; index < this.told.length; index++) {
      const told = this.told[index];
      told.x = Math.round(this.x[index] * 100);
      told.z = Math.round(this.z[index] * 100);
      told.yaw = Math.round((this.yaw[index] / (2 * Math.PI)) * 65_536) & 0xffff;
    }
  }

  broadcastPatch() {
    const started = performance.now();
    const changed = super.broadcastPatch();
    took.push(performance.now() - started);
    return changed;
  }
}

function between(low, high) {
  return low + (high - low) * Math.random();
}

function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function figures() {
  const sorted = took.toSorted((a, b) => a - b);
  took = [];
  const clients = room?.clients ?? [];
  const seen = plan.radius === null ? plan.avatars : mean(clients.map((client) => client.userData.seen.size));
  return { tickP99Ms: quantile(sorted, 0.99), seen };
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

const transport = new WebSocketTransport({ pingInterval: 10_000 });
const server = new Server({ transport, greet: false, gracefullyShutdown: false });
server.define("load", Walkers);
await server.listen(0, "127.0.0.1");
console.log(`listening ${transport.server.address().port}`);
const lines = createInterface({ input: process.stdin });
lines.on("line", () => console.log(JSON.stringify(figures())));
lines.on("close", () => process.exit(0));
