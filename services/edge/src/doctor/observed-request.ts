import type { FastifyRequest } from "fastify";
import { addressBucket } from "../http/index.ts";

/** Headers that reveal a proxy. Only their names are returned, never their values. */
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

/** How a request arrived at the edge. Sent to the request's client. */
export type ObservedRequest = {
  client: {
    address: string;
    /** The rate-limit bucket of the address. */
    counted_as: string;
    /** `x-forwarded-for` if a trusted proxy named the address, else `connection`. */
    from: "connection" | "x-forwarded-for";
  };
  http_version: string;
  forwarded_headers: string[];
};

export function observeRequest(request: FastifyRequest): ObservedRequest {
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
