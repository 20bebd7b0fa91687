import type { FastifyInstance } from "fastify";
import { type KeyResolver, TOO_MANY_UNKNOWN_KEYS } from "../auth/index.ts";
import {
  addressBucket,
  endpoint,
  eventStream,
  HttpError,
  MAX_SMALL_BODY_BYTES,
  type Operation,
  overloadedError,
  refused,
  WIDGET_REFUSALS,
} from "../http/index.ts";
import {
  enforceRateLimit,
  type MalformedRequestLimiter,
  POLICIES,
  type Policy,
  type RateLimiter,
} from "../rate-limits/index.ts";
import { OpenStreamCounts, type StreamRegistry } from "../streams/index.ts";
import { DOCTOR_EVENTS, DoctorRequest, EVENT_COUNT } from "./doctor-request.ts";
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

const describeDoctor = (policy: Policy, maxOpenPerClient: number): Operation => ({
  operationId: "doctor",
  summary: "Stream paced events",
  description: `Streams small events at a fixed pace and reports how the request arrived, so that \`parley doctor\` can detect proxies on the way. Also checks a visitor token. Calls no model and uses no quota. Checks are those of chat. The rate limit is ${policy.limit} requests a minute, and an address may have ${maxOpenPerClient} open doctor streams.`,
  isLimited: true,
  responses: {
    ...WIDGET_REFUSALS,
    200: eventStream(
      `Server-Sent Events: \`meta\`, ${EVENT_COUNT} × \`tick\`, then the silence without comments, then \`done\`.`,
      DOCTOR_EVENTS,
    ),
    400: refused(
      "The body is not JSON (`invalid_json`), or a field is missing, blank or of the wrong type (`invalid_message`).",
      "invalid_json",
      "invalid_message",
    ),
    429: refused(
      `One address sent more than ${policy.limit} requests in a minute, ${TOO_MANY_UNKNOWN_KEYS}, or more than ${POLICIES.malformed.limit} malformed requests in a minute.`,
      "rate_limited",
    ),
  },
});

/**
 * POST /api/doctor/: streams events at a fixed pace, with a description of the received request, for `parley doctor`. Uses no model and no
 * quota. It has a small rate limit and a small number of streams of its own, so that its silent streams take no place from visitors.
 */
export function doctorRoute(app: FastifyInstance, deps: DoctorDeps): void {
  const policy = { ...POLICIES.doctor, limit: deps.doctorRequests };
  // With 20 requests a minute: six streams of an address and 30 of the process. `parley doctor` opens up to four at once.
  const maxOpenPerClient = Math.ceil(0.3 * policy.limit);
  const counts = new OpenStreamCounts({ maxOpen: 5 * maxOpenPerClient, maxOpenPerClient });
  endpoint(app, {
    method: "POST",
    url: "/api/doctor/",
    config: { cors: true },
    bodyLimit: MAX_SMALL_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    schema: { body: DoctorRequest },
    operation: describeDoctor(policy, maxOpenPerClient),
    handler: async (request, reply) => {
      const { public_key: publicKey, silence_ms: silenceMs = 0, visitor_token: token } = request.body;
      request.publicKey = publicKey;
      const bucket = addressBucket(request.ip);
      await enforceRateLimit(deps.limiter, policy, bucket, reply);
      const { allowsOrigin, verifyVisitorToken } = await deps.resolveKey(publicKey, bucket);
      if (!allowsOrigin(request.headers.origin)) throw new HttpError(403, "origin_not_allowed");
      const verified = token === undefined ? undefined : await verifyVisitorToken(token);
      if (counts.findFullLimit(bucket) !== undefined) throw overloadedError("client");
      const stream = deps.streams.open(reply.raw, bucket);
      counts.add(bucket);
      reply.hijack();
      try {
        await streamPacedEvents(reply.raw, {
          observed: observeRequest(request),
          visitorToken: typeof verified === "object" ? "accepted" : verified,
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
