import { isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * Returns the bucket of a client address: the IPv4 address, or the /64 of an IPv6 address, because one visitor usually has a whole /64. An IPv6
 * address that contains its client's IPv4 address shares the bucket of that address. Invalid addresses share the bucket "unknown".
 */
export function addressBucket(address: string): string {
  if (isIPv4(address)) return address;
  if (!ipaddr.isValid(address)) return "unknown";
  const parsed = ipaddr.process(address);
  if (parsed.kind() === "ipv4") return parsed.toString();
  const { parts } = parsed as ipaddr.IPv6;
  return embeddedIPv4(parts) ?? networkOf(parts, 64);
}

/**
 * Returns the IPv4 address of the client behind a transition mechanism. Without this, all IPv4 clients behind a translator would share one /64,
 * and one IPv4 client could use each of the 65,536 /64s of its 6to4 network.
 */
function embeddedIPv4(parts: readonly number[]): string | undefined {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = parts;
  // 6to4 (RFC 3056): 2002:V4ADDR::/48.
  if (a === 0x2002) return toIPv4(b, c);
  // Teredo (RFC 4380): the last 32 bits are the client's address, inverted.
  if (a === 0x2001 && b === 0) return toIPv4(g ^ 0xffff, h ^ 0xffff);
  // NAT64 (RFC 6052, RFC 8215): 64:ff9b::/96 and, of the local-use 64:ff9b:1::/48, the /96s.
  if (a === 0x64 && b === 0xff9b && (c === 0 ? d === 0 : c === 1) && e === 0 && f === 0) return toIPv4(g, h);
  // IPv4-translated (RFC 6145): ::ffff:0:V4ADDR.
  if ((a | b | c | d | f) === 0 && e === 0xffff) return toIPv4(g, h);
  return undefined;
}

const toIPv4 = (high: number, low: number) => [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");

/** `bits` is 48, 56 or 64. */
function networkOf(parts: readonly number[], bits: number): string {
  const network = parts.slice(0, Math.ceil(bits / 16)).map((part) => part.toString(16));
  if (bits === 56) network[3] = ((parts[3] ?? 0) & 0xff00).toString(16);
  return `${network.join(":")}::/${bits}`;
}

/** A bucket whose requests or streams are counted, and how many times a single client's limit it may use. */
export type CountedBucket = { bucket: string; factor: number };

/**
 * The larger networks of an IPv6 client. A provider assigns a /56 or a /48 to one customer, who then has up to 65,536 /64s. A mobile network
 * may have many customers in a /48, so the limits are larger there.
 */
const IPV6_NETWORKS = [
  { bits: 56, factor: 4 },
  { bits: 48, factor: 16 },
] as const;

const IPV6_BUCKET = /^([0-9a-f]+):([0-9a-f]+):([0-9a-f]+):([0-9a-f]+)::\/64$/;

/**
 * Returns the buckets in which a client is counted: its own, and, of an IPv6 client, its /56 and its /48. Every limit by address must count in
 * all of them. An IPv4 address, a user and any other bucket has only itself.
 */
export function countedBuckets(bucket: string): readonly CountedBucket[] {
  const own = { bucket, factor: 1 };
  const groups = IPV6_BUCKET.exec(bucket)?.slice(1);
  if (groups === undefined) return [own];
  const parts = groups.map((group) => Number.parseInt(group, 16));
  return [own, ...IPV6_NETWORKS.map(({ bits, factor }) => ({ bucket: networkOf(parts, bits), factor }))];
}

/**
 * Returns the largest network of a client's bucket: the /48 of an IPv6 client; any other bucket itself. A limit within one workspace counts only
 * there. Otherwise a client with a /48, which hosting companies and tunnels give away, would have the limit 65,536 times.
 */
export function networkBucket(bucket: string): string {
  return countedBuckets(bucket).at(-1)?.bucket ?? bucket;
}
