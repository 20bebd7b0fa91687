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

const TIMEOUT_MS = 2_000;
const MAX_PAGE_MIB = 8;
const MAX_PAGE_BYTES = MAX_PAGE_MIB * 1024 * 1024;

/** The replica responded with a status other than 200 or with more than MAX_PAGE_BYTES. */
class PageError extends Error {}

/**
 * Reads `/metrics` of every replica. If a host name resolves to several addresses, as the name of a headless Service does, each address is one
 * replica. A replica whose metrics cannot be read does not fail the call.
 */
export async function scrapeReplicas(urls: Readonly<Record<Service, readonly string[]>>): Promise<Sample> {
  const endpoints = await Promise.all(
    SERVICES.flatMap((service) =>
      urls[service].map((url) => resolveAddresses(url).then((addresses) => ({ service, url, addresses }))),
    ),
  );
  const replicas = await Promise.all(
    endpoints.flatMap(({ service, url, addresses }) =>
      addresses.map(async (address): Promise<Replica> => {
        const label = addresses.length > 1 ? `${url} (${address})` : url;
        return { service, url: label, ...(await readSeries(url, address)) };
      }),
    ),
  );
  return { atMs: performance.now(), replicas };
}

async function resolveAddresses(url: string): Promise<string[]> {
  const { hostname } = new URL(url);
  // localhost may resolve to several addresses of the same replica.
  if (hostname === "localhost" || isIP(hostname.replace(/^\[|\]$/g, ""))) return [hostname];
  try {
    const found = await lookup(hostname, { all: true });
    return [...new Set(found.map(({ address }) => address))];
  } catch {
    return [hostname];
  }
}

async function readSeries(base: string, address: string) {
  try {
    return { series: parseExposition(await requestPage(new URL("/metrics", base), address)) };
  } catch (error) {
    return { series: undefined, problem: error instanceof PageError ? error.message : "is unreachable" };
  }
}

/** Requests a URL at a given address of its host, which fetch cannot do. */
function requestPage(url: URL, address: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      host: address.replace(/^\[|\]$/g, ""),
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
