// A program that runs next to the server: it owns the target of an arm of the robots and leads it in a circle. `npm run
// guide -- nowcast://localhost:7777/robots`, or with another address, and a token if the server requires one.
import { joinWorld } from "nowcast/world";

const [url = "nowcast://localhost:7777/robots", token, seconds = "Infinity"] = process.argv.slice(2);
const world = joinWorld(url, { name: "Guide", role: "program", token: token || undefined });
world.on("refused", ({ action, reason }) => console.log(`${action}: ${reason}`));
world.on("error", ({ error }) => console.log(`lost the world: ${error.message}`));

/** Waits for a target without an owner and returns the first one. */
async function freeTarget() {
  for (;;) {
    for (const target of world.entitiesOf("target")) if (target.owner === undefined) return target;
    await Promise.race([world.once("spawn"), world.once("owner")]);
  }
}

const target = await freeTarget();
await world.own(target.id);
console.log(`The guide moves target ${target.id}.`);
const [x, , z] = target.attributes.base;
const beginMs = performance.now();
const timer = setInterval(() => {
  const angle = (performance.now() - beginMs) / 1000;
  // The program may call this at any rate. Only the newest pose counts, and the SDK sends thirty a second.
  world.move(target.id, { position: [x + 2 * Math.sin(angle), 1.5, z + 2 * Math.cos(angle)] });
  if (angle < Number(seconds)) return;
  clearInterval(timer);
  world.release(target.id);
  world.chat("I have let go of the arm.");
  world.once("chat").then(() => world.close());
}, 5);
