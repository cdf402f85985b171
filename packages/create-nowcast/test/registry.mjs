// A registry of npm for tests: serves the packages of one folder, on loopback. Only reading is possible.
//
//   node registry.mjs FOLDER [PORT [OTHERS]]
//
// Prints its address. Requests for packages that the folder does not have are redirected to the registry with the address
// OTHERS, and refused without such an address.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Starts a registry with the packages of `folder`. Other packages are at `others`, if it is given. Resolves with its server
 * and its address.
 *
 * @param {string} folder
 * @param {number} port
 * @param {string | undefined} others
 */
export async function startRegistry(folder, port = 0, others = undefined) {
  const packages = new Map();
  const files = new Map();
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".tgz"))) {
    const content = readFileSync(join(folder, file));
    const text = execFileSync("tar", ["-xzOf", join(folder, file), "package/package.json"]);
    const manifest = JSON.parse(text.toString());
    files.set(file, content);
    packages.set(manifest.name, [...(packages.get(manifest.name) ?? []), { manifest, file, content }]);
  }
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname).slice(1);
    const origin = `http://${request.headers.host}`;
    const file = path.startsWith("-/") ? files.get(path.slice(2)) : undefined;
    if (file !== undefined) {
      response.writeHead(200, { "Content-Type": "application/octet-stream" }).end(file);
      return;
    }
    const releases = packages.get(path);
    if (releases === undefined && others !== undefined) {
      response.writeHead(302, { Location: others.replace(/\/$/, "") + request.url }).end();
      return;
    }
    if (releases === undefined) {
      response.writeHead(404, { "Content-Type": "application/json" }).end('{"error":"not found"}');
      return;
    }
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify(describe(path, releases, origin)));
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return { server, address: `http://127.0.0.1:${server.address().port}` };
}

/** The document that npm reads: all versions, and where their files are. */
function describe(name, releases, origin) {
  const versions = {};
  for (const { manifest, file, content } of releases) {
    const integrity = `sha512-${createHash("sha512").update(content).digest("base64")}`;
    const shasum = createHash("sha1").update(content).digest("hex");
    versions[manifest.version] = {
      ...manifest,
      _id: `${name}@${manifest.version}`,
      dist: { integrity, shasum, tarball: `${origin}/-/${file}` },
    };
  }
  const latest = releases.at(-1).manifest.version;
  return { name, "dist-tags": { latest }, versions };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [folder, port, others] = process.argv.slice(2);
  const { address } = await startRegistry(folder, Number(port ?? 0), others);
  console.log(address);
}
