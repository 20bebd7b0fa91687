import type { FastifyInstance } from "fastify";
import type { KeyResolver } from "../auth/index.ts";
import { addressBucket, endpoint, HttpError, MAX_SMALL_BODY_BYTES } from "../http/index.ts";
import { enforceRateLimit, type MalformedRequestLimiter, POLICIES, type RateLimiter } from "../rate-limits/index.ts";
import type { StreamRegistry } from "../streams/index.ts";
import { parseDoctorRequest } from "./doctor-request.ts";
import { observeRequest } from "./observed-request.ts";
import { streamPacedEvents } from "./paced-events.ts";

export type DoctorDeps = {
  limiter: RateLimiter;
  malformedRequests: MalformedRequestLimiter;
  resolveKey: KeyResolver;
  streams: StreamRegistry;
  monotonicMs: () => number;
};

/** POST /api/doctor/: streams events at a fixed pace, with a description of the received request, for `parley doctor`. Uses no model and no quota. */
export function doctorRoute(app: FastifyInstance, deps: DoctorDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/doctor/",
    config: { cors: true },
    bodyLimit: MAX_SMALL_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    handler: async (request, reply) => {
      const { publicKey, silenceMs } = parseDoctorRequest(request.body as Buffer | undefined);
      const bucket = addressBucket(request.ip);
      await enforceRateLimit(deps.limiter, POLICIES.chat, bucket, reply);
      const { allowsOrigin } = await deps.resolveKey(publicKey, bucket);
      if (!allowsOrigin(request.headers.origin)) throw new HttpError(403, "origin_not_allowed");
      const stream = deps.streams.open(reply.raw, bucket);
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
        stream.release();
      }
      return reply;
    },
  });
}
