import type { FastifyInstance } from "fastify";
import type { KeyResolver } from "../auth/index.ts";
import { addressBucket, endpoint, HttpError, MAX_SMALL_BODY_BYTES, overloadedError } from "../http/index.ts";
import { enforceRateLimit, type MalformedRequestLimiter, POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import { OpenStreamCounts, type StreamRegistry } from "../streams/index.ts";
import { parseDoctorRequest } from "./doctor-request.ts";
import { observeRequest } from "./observed-request.ts";
import { streamPacedEvents } from "./paced-events.ts";

export type DoctorDeps = {
  limiter: RateLimiter;
  malformedRequests: MalformedRequestLimiter;
  resolveKey: KeyResolver;
  streams: StreamRegistry;
  monotonicMs: () => number;
  /** How many requests an address may send in a minute. */
  doctorRequests: number;
};

/**
 * POST /api/doctor/: streams events at a fixed pace, with a description of the received request, for `parley doctor`. Uses no model and no
 * quota. It has a small rate limit and a small number of streams of its own, so that its silent streams take no place from visitors.
 */
export function doctorRoute(app: FastifyInstance, deps: DoctorDeps): void {
  const policy = { ...POLICIES.doctor, limit: deps.doctorRequests };
  // With 20 requests a minute: six streams of an address and 30 of the process. `parley doctor` opens three streams at once.
  const maxOpenPerClient = Math.ceil(0.3 * policy.limit);
  const counts = new OpenStreamCounts({ maxOpen: 5 * maxOpenPerClient, maxOpenPerClient });
  endpoint(app, {
    method: "POST",
    url: "/api/doctor/",
    config: { cors: true },
    bodyLimit: MAX_SMALL_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    handler: async (request, reply) => {
      const { publicKey, silenceMs } = parseDoctorRequest(request.body as Buffer | undefined);
      request.publicKey = publicKey;
      const bucket = addressBucket(request.ip);
      await enforceRateLimit(deps.limiter, policy, bucket, reply);
      const { allowsOrigin } = await deps.resolveKey(publicKey, bucket);
      if (!allowsOrigin(request.headers.origin)) throw new HttpError(403, "origin_not_allowed");
      if (counts.findFullLimit(bucket) !== undefined) throw overloadedError("client");
      const stream = deps.streams.open(reply.raw, bucket);
      counts.add(bucket);
      reply.hijack();
      try {
        await streamPacedEvents(reply.raw, {
          observed: observeRequest(request),
          silenceMs,
          headers: reply.getHeaders(),
          signal: stream.endSignal,
          monotonicMs: deps.monotonicMs,
        });
      } finally {
        counts.remove(bucket);
        stream.release();
      }
      return reply;
    },
  });
}
