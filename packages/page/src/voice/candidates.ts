/**
 * Hides local addresses of this machine from the other side of a call, as RFC 8828 recommends.
 */
import type { Signal } from "./signals.js";

/**
 * Whether a page from this host is in the local network. Its visitors know addresses of this network in any
 * case.
 */
export function isOwnNetwork(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").toLowerCase();
  if (host === "localhost" || host.endsWith(".localhost") || host.endsWith(".local")) return true;
  if (host.includes(":")) return host === "::1" || /^f[cd]|^fe[89ab]/.test(host);
  const parts = host.split(".").map(Number);
  if (parts.length !== 4 || parts.some((part) => !Number.isInteger(part))) return false;
  const [first, second] = parts as [number, number];
  return (
    first === 127 ||
    first === 10 ||
    (first === 172 && second >= 16 && second < 32) ||
    (first === 192 && second === 168) ||
    (first === 169 && second === 254)
  );
}

/** Returns a signal without addresses of this machine's own network; `undefined` if nothing remains. */
export function withoutHostAddresses(signal: Signal): Signal | undefined {
  if (signal.type === "candidate") {
    const candidate = withoutHostAddress(signal.candidate);
    return candidate === undefined ? undefined : { ...signal, candidate };
  }
  if (signal.type !== "offer" && signal.type !== "answer") return signal;
  const lines = signal.sdp.split("\r\n").flatMap((line) => {
    if (line.startsWith("a=candidate:")) {
      const candidate = withoutHostAddress(line.slice(2));
      return candidate === undefined ? [] : [`a=${candidate}`];
    }
    // The default address of a description is replaced, because it is the address of one of the candidates.
    if (line.startsWith("c=IN ")) return ["c=IN IP4 0.0.0.0"];
    if (line.startsWith("a=rtcp:")) return ["a=rtcp:9 IN IP4 0.0.0.0"];
    return [line];
  });
  return { ...signal, sdp: lines.join("\r\n") };
}

/**
 * A line of RFC 8839: foundation, component, transport, priority, address, port, `typ`, type, and more. Host
 * candidates are dropped, unless the browser replaced the address by an mDNS name. From other candidates, the
 * related local address is removed.
 */
function withoutHostAddress(candidate: string): string | undefined {
  const fields = candidate.split(" ");
  const [, , , , address = "", , , type] = fields;
  if (type === "host") return address.endsWith(".local") ? candidate : undefined;
  const related = fields.indexOf("raddr");
  if (related >= 0) fields[related + 1] = "0.0.0.0";
  const port = fields.indexOf("rport");
  if (port >= 0) fields[port + 1] = "0";
  return fields.join(" ");
}
