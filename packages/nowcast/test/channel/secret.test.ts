/**
 * A text that looks like a public key, or that is not a secret, is rejected, because otherwise tokens could
 * be forged.
 */
import { createHmac, generateKeyPairSync, randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { connect, NowcastError } from "../../src/index.js";
import { listen } from "../../src/node/index.js";
import { knownToOthers } from "../../src/node/secret.js";

const { publicKey } = generateKeyPairSync("ed25519");
const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 }).publicKey;
const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
const der = publicKey.export({ type: "spki", format: "der" });
const rsaDer = rsa.export({ type: "spki", format: "der" });
const ssh = "AAAAC3NzaC1lZDI1NTE5AAAAIHt6b0dZHvFzEd1Tb8tJEcQ0v0h4bVW0cPvYp1yYJ0pG";
const text = (value: string): Uint8Array => new TextEncoder().encode(value);

it.each([
  ["a public key in PEM", text(pem)],
  ["the same with a byte order mark", text(`\ufeff${pem}`)],
  ["the same after a comment", text(`# the key of our tokens\n${pem}`)],
  ["the same in UTF-16", Buffer.from(`\ufeff${pem}`, "utf16le")],
  ["a certificate", text("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")],
  ["a line of OpenSSH", text(`ssh-ed25519 ${ssh} ada@robot`)],
  ["the bare key of OpenSSH", text(ssh)],
  ["a JSON Web Key", text(JSON.stringify(publicKey.export({ format: "jwk" })))],
  ["a set of them", text(JSON.stringify({ keys: [publicKey.export({ format: "jwk" })] }, null, 2))],
  ["DER", der],
  ["DER of RSA", rsaDer],
  ["DER of RSA as PKCS 1 has it", rsa.export({ type: "pkcs1", format: "der" })],
  ["DER in base64", text(der.toString("base64"))],
  ["DER in base64url", text(rsaDer.toString("base64url"))],
  [
    "the password file of the system",
    text("root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"),
  ],
  ["text with white space", text("32 bytes that nobody else knows.")],
  ["a word with the end of its line", text(`${randomBytes(32).toString("base64")}\n`)],
  ["40 NULs", new Uint8Array(40)],
  ["one letter 40 times", text("a".repeat(40))],
  ["31 bytes", randomBytes(31)],
  ["nothing", new Uint8Array(0)],
  ["text instead of bytes", "v".repeat(40) as never],
])("refuses %s as a secret", async (_, secret) => {
  const error: unknown = await listen({ port: 0, tokenKey: { algorithm: "HS256", secret } }).then(
    (listener) => listener.close(),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(NowcastError);
  expect(error).toMatchObject({ fault: "misuse" });
  expect(String(error)).toMatch(/is not a secret for tokens: give one word|has 32 bytes or more/);
});

it("takes 3,000 random secrets, as bytes and as words", () => {
  for (let n = 0; n < 3_000; n++) {
    const secret = randomBytes(32);
    expect(knownToOthers(secret), secret.toString("hex")).toBeUndefined();
    expect(knownToOthers(text(secret.toString("base64")))).toBeUndefined();
    expect(knownToOthers(text(secret.toString("base64url")))).toBeUndefined();
    expect(knownToOthers(text(secret.toString("hex")))).toBeUndefined();
  }
});

it("refuses a token whose header demands an unknown extension", async () => {
  const secret = randomBytes(32);
  const listener = await listen({ port: 0, tokenKey: { algorithm: "HS256", secret } });
  listener.advertise("plaza");
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const token = (head: object, claims: object = {}): string => {
    const signed = `${part(head)}.${part({ exp: Date.now() / 1_000 + 60, ...claims })}`;
    return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
  };
  const url = `nowcast://127.0.0.1:${listener.port}/plaza`;
  for (const crit of [["b64"], [], "exp", null]) {
    const refused = connect(url, { token: token({ alg: "HS256", crit, b64: true }) });
    await expect(refused, String(crit)).rejects.toThrow("demands an extension (crit)");
  }
  const wrong = connect(url, { token: token({ alg: "HS256" }, { sub: "Ada\u0007" }) });
  await expect(wrong).rejects.toThrow('"sub"');
  (await connect(url, { token: token({ alg: "HS256" }, { sub: "Ada" }) })).close();
  await listener.close();
});
