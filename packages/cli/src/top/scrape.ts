import { lookup } from "node:dns/promises";
import { request } from "node:http";
import { request as requestTls } from "node:https";
import { isIP } from "node:net";
import { text } from "node:stream/consumers";
import { parseExposition, type Series } from "./exposition.ts";

export const SERVICES = ["edge", "conversation", "quota", "llm-proxy"] as const;

export type Service = (typeof SERVICES)[number];

/** The metrics of one replica, or the reason why they could not be read, such as "is unreachable". */
export type Replica = { service: Service; url: string } & (
  | { series: Series[]; problem?: undefined }
  | { series: undefined; problem: string }
);

export type Sample = {
  /** Milliseconds of a monotonic clock. */
  atMs: number;
  replicas: Replica[];
};

/** Where to find the replicas of a service. */
export type ReplicaTarget = {
  urls: readonly string[];
  /** The number of replicas that should be ready. If fewer addresses are found, the others are reported as missing. */
  minReplicas?: number | undefined;
};

export type ReplicaTargets = Readonly<Record<Service, ReplicaTarget>>;

type Resolve = (hostname: string, options: { all: true }) => Promise<{ address: string; family: number }[]>;

const TIMEOUT_MS = 2_000;
const MAX_PAGE_MIB = 8;
const MAX_PAGE_BYTES = MAX_PAGE_MIB * 1024 * 1024;

/** The replica responded with a status other than 200 or with more than MAX_PAGE_BYTES. */
class PageError extends Error {}

/**
 * Reads `/metrics` of every replica. If a host name resolves to several addresses, as the name of a headless Service does, each address is one
 * replica. A replica whose metrics cannot be read does not fail the call.
 */
export async function scrapeReplicas(targets: ReplicaTargets, resolve: Resolve = lookup): Promise<Sample> {
  const replicas = await Promise.all(SERVICES.map((service) => scrapeService(service, targets[service], resolve)));
  return { atMs: performance.now(), replicas: replicas.flat() };
}

async function scrapeService(
  service: Service,
  { urls, minReplicas = 0 }: ReplicaTarget,
  resolve: Resolve,
): Promise<Replica[]> {
  const endpoints = await Promise.all(urls.map(async (url) => ({ url, addresses: await resolveUrl(url, resolve) })));
  const found = await Promise.all(
    endpoints.flatMap(({ url, addresses }) =>
      addresses.map(async (address): Promise<Replica> => {
        const label = addresses.length > 1 ? `${url} (${address})` : url;
        return { service, url: label, ...(await readSeries(url, address)) };
      }),
    ),
  );
  const missing = Array.from({ length: Math.max(0, minReplicas - found.length) }, (_, index): Replica => {
    const url = `${urls.join(", ")} (replica ${found.length + index + 1} of ${minReplicas})`;
    return {
      service,
      url,
      series: undefined,
      problem: "is missing: it is not ready, so its name has no address for it",
    };
  });
  return [...found, ...missing];
}

async function resolveUrl(url: string, resolve: Resolve): Promise<string[]> {
  const { hostname } = new URL(url);
  // localhost may resolve to several addresses of the same replica.
  if (hostname === "localhost" || isIP(withoutBrackets(hostname)) !== 0) return [hostname];
  try {
    const found = await resolve(hostname, { all: true });
    // In a dual-stack cluster each replica has an address of both families.
    const [v4, v6] = [found.filter(({ family }) => family === 4), found.filter(({ family }) => family === 6)];
    return [...new Set((v4.length >= v6.length ? v4 : v6).map(({ address }) => address))];
  } catch {
    return [hostname];
  }
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}

async function readSeries(base: string, address: string) {
  try {
    return { series: parseExposition(await requestPage(new URL("/metrics", base), address)) };
  } catch (error) {
    return { series: undefined, problem: error instanceof PageError ? error.message : "is unreachable" };
  }
}

/** Requests a URL at a given address of its host, which fetch cannot do. The Host header and TLS keep the host's name. */
function requestPage(url: URL, address: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const host = withoutBrackets(url.hostname);
    const options = {
      // `host` would have no effect, because Node prefers the URL's `hostname`.
      hostname: withoutBrackets(address),
      ...(isIP(host) === 0 && { servername: host }),
      headers: { host: url.host },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      agent: false as const,
    };
    const clientRequest = (url.protocol === "https:" ? requestTls : request)(url, options, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_PAGE_BYTES) response.destroy(new PageError(`returned more than ${MAX_PAGE_MIB} MiB`));
      });
      if (response.statusCode !== 200) {
        response.resume();
        reject(new PageError(`returned status ${response.statusCode}`));
      } else text(response).then(resolve, reject);
    });
    clientRequest.once("error", reject);
    clientRequest.end();
  });
}
