import type { FastifyRequest } from "fastify";
import { addressBucket } from "../http/index.ts";

/** Headers by which proxies tell what stood before them, or give themselves away; only their names are told. */
const FORWARDED_HEADERS = [
  "cf-connecting-ip",
  "cf-ray",
  "forwarded",
  "via",
  "x-amz-cf-id",
  "x-amzn-trace-id",
  "x-cloud-trace-context",
  "x-envoy-expected-rq-timeout-ms",
  "x-envoy-external-address",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-proto",
  "x-forwarded-scheme",
  "x-forwarded-server",
  "x-original-forwarded-for",
  "x-real-ip",
  "x-scheme",
] as const;

/** A request as it arrived here, told to who sent it. */
export type Seen = {
  client: {
    address: string;
    /** What the rate limiter counts it as. */
    counted_as: string;
    /** `x-forwarded-for` when a trusted proxy named the address, else `connection`. */
    from: "connection" | "x-forwarded-for";
  };
  http_version: string;
  /** Names of proxies' headers that the request carried. */
  forwarded_headers: string[];
};

export function seenOf(request: FastifyRequest): Seen {
  const { headers, httpVersion } = request.raw;
  return {
    client: {
      address: request.ip,
      counted_as: addressBucket(request.ip),
      from: (request.ips?.length ?? 1) > 1 ? "x-forwarded-for" : "connection",
    },
    http_version: httpVersion,
    forwarded_headers: FORWARDED_HEADERS.filter((name) => headers[name] !== undefined),
  };
}
