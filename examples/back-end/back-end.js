// A back end of a game: people log in, buy items in the world `shop`, and PostgreSQL keeps accounts, orders and events.
import { createHmac, randomBytes, scryptSync, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import postgres from "postgres";

const WORLD = process.env.WORLD ?? "http://localhost:7777";
const PORT = Number(process.env.PORT ?? 3000);
const PRICES = { hat: 30, crown: 80 };
const COINS_OF_NEWCOMERS = 100;
const BODY_BYTES_MAX = 1 << 20;

const tokenKey = readFileSync(process.env.TOKEN_KEY ?? "world.key", "utf8").trim();
const webhookKey = readFileSync(process.env.WEBHOOK_KEY ?? "webhook.key", "utf8").trim();
const sql = postgres(process.env.DATABASE_URL ?? "postgres://localhost/shop", { onnotice: () => {} });

const routes = { "POST /login": logIn, "POST /webhook": receive };

await sql.unsafe(readFileSync(new URL("schema.sql", import.meta.url), "utf8"));
createServer(async (request, response) => {
  try {
    const route = routes[`${request.method} ${request.url}`];
    const [status, answer] = route ? await route(request, await bodyOf(request)) : [404];
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
  } catch (error) {
    console.error(error);
    // The server sends a webhook's request again later.
    response.writeHead(500).end();
  }
}).listen(PORT, "127.0.0.1", () => console.log(`The back end is at http://localhost:${PORT}`));

/** Creates an account or checks its password, and returns the player's address. */
async function logIn(_request, body) {
  const { name, password } = JSON.parse(body);
  if (!/^\w{1,24}$/.test(name) || typeof password !== "string") return [400];
  const salt = randomBytes(16);
  await sql`
    insert into accounts ${sql({ name, salt, password: hashOf(password, salt), coins: COINS_OF_NEWCOMERS })}
    on conflict do nothing`;
  const [account] = await sql`select salt, password from accounts where name = ${name}`;
  if (!timingSafeEqual(account.password, hashOf(password, account.salt))) return [403];
  return [200, { url: `${WORLD}/r/shop?token=${tokenFor({ sub: name, room: "shop" })}` }];
}

/** Stores the events of a request by the server, and handles the new ones. */
async function receive(request, body) {
  if (!isSigned(request.headers["nowcast-signature"], body)) return [401];
  for (const { id, type, room, time_ms, ...content } of JSON.parse(body).events) {
    const account = await sql.begin(async (transaction) => {
      const event = { id, type, room, time: new Date(time_ms), content: sql.json(content) };
      const added = await transaction`insert into events ${sql(event)} on conflict do nothing returning id`;
      if (added.length > 0) return handle(transaction, { id, type, ...content });
    });
    if (account) await deliver(room, account, content.player ?? content.payload.player);
  }
  return [204];
}

/** Handles a new event. Returns the account whose orders can be delivered. */
async function handle(transaction, { id, type, name, account, payload }) {
  if (type === "join") return account;
  if (type !== "event") return undefined;
  if (name === "delivered") {
    await transaction`update orders set delivered = true where id = ${payload.order}`;
  } else if (name === "order") {
    const price = PRICES[payload.item];
    if (price === undefined) return undefined;
    const paid = await transaction`
      update accounts set coins = coins - ${price}
      where name = ${nameOf(payload.account)} and coins >= ${price} returning name`;
    if (paid.length === 0) return undefined;
    const order = { id, account: paid[0].name, item: payload.item, price };
    await transaction`insert into orders ${sql(order)}`;
    return payload.account;
  }
  return undefined;
}

/** Asks the rules to give a player all items that the player has paid for. The event "delivered" confirms each of them. */
async function deliver(room, account, player) {
  const orders = await sql`
    select orders.id as order, item, coins from orders join accounts on name = account
    where account = ${nameOf(account)} and not delivered order by orders.id`;
  for (const { order, item, coins } of orders) {
    const answer = await fetch(`${WORLD}/studio/api/rooms/${room}/act`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${tokenFor({ sub: "back-end", role: "editor" })}`,
        "Content-Type": "application/json",
      },
      body: JSON.stringify({ player, action: "deliver", arguments: { order, item, coins } }),
    });
    // A player who has left receives the items at the next join.
    if (!answer.ok) console.error(`${order} waits for the next join: ${await answer.text()}`);
  }
}

/** The name in an account such as `token:Ada`. */
function nameOf(account) {
  return account.replace(/^token:/, "");
}

/** A token for ten minutes. */
function tokenFor(claims) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(Date.now() / 1000) + 600;
  const text = `${encode({ alg: "HS256", typ: "JWT" })}.${encode({ exp, ...claims })}`;
  return `${text}.${createHmac("sha256", tokenKey).update(text).digest("base64url")}`;
}

/** Whether the server signed a body within the last five minutes. */
function isSigned(signature, body) {
  const [, time, digits] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature ?? "") ?? [];
  if (time === undefined || Math.abs(Date.now() / 1000 - time) > 300) return false;
  const expected = createHmac("sha256", webhookKey).update(`${time}.${body}`).digest();
  return timingSafeEqual(expected, Buffer.from(digits, "hex"));
}

function hashOf(password, salt) {
  return scryptSync(password, salt, 32);
}

async function bodyOf(request) {
  const parts = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) throw new Error("the body is too large");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
