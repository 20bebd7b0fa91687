import type { FastifyInstance } from "fastify";
import { admitVisitor, type KeyResolver, TOO_MANY_UNKNOWN_KEYS } from "../auth/index.ts";
import { endpoint, json, MAX_SMALL_BODY_BYTES, type Operation, refused, WIDGET_REFUSALS } from "../http/index.ts";
import { type MalformedRequestLimiter, POLICIES } from "../rate-limits/index.ts";
import { ChallengeRequest, IssuedPass } from "./challenge-request.ts";
import { CHALLENGE, type ChallengeDeps, MESSAGES_OF_PASS, redeemSolution } from "./require-pass.ts";

export type ChallengeRouteDeps = Pick<ChallengeDeps, "limiter" | "challenges" | "challengeMetrics"> & {
  malformedRequests: MalformedRequestLimiter;
  resolveKey: KeyResolver;
};

const REDEEM: Operation = {
  operationId: "solveChallenge",
  summary: "Buy a pass with a solved challenge",
  description:
    "Returns a pass for the solution of the challenge that chat sent with 403 `challenge_required`. The key, the session and the client address must be those of that request. A solution is accepted once.",
  isLimited: true,
  responses: {
    ...WIDGET_REFUSALS,
    200: json("The solution is correct.", IssuedPass),
    400: refused("As for chat.", "invalid_json", "invalid_message", "invalid_session_id"),
    403: {
      ...refused(
        "The `Origin` is missing, `null`, or does not match the key's allowed domains (`origin_not_allowed`); or the solution is wrong, expired or already used, or of another key, session or address (`challenge_required`): solve the new `challenge`.",
        "origin_not_allowed",
        "challenge_required",
      ),
      fields: { challenge: CHALLENGE },
    },
    429: refused(
      `One address sent more than ${POLICIES.chat.limit} requests in a minute, ${TOO_MANY_UNKNOWN_KEYS}, or more than ${POLICIES.malformed.limit} malformed requests in a minute.`,
      "rate_limited",
    ),
  },
};

/** POST /api/chat/challenge/: returns a pass for a solved challenge. */
export function challengeRoute(app: FastifyInstance, deps: ChallengeRouteDeps): void {
  endpoint(app, {
    method: "POST",
    url: "/api/chat/challenge/",
    config: { cors: true },
    bodyLimit: MAX_SMALL_BODY_BYTES,
    onRequest: deps.malformedRequests.refuseOverLimit,
    schema: { body: ChallengeRequest },
    operation: REDEEM,
    handler: async (request, reply) => {
      const { public_key: publicKey, session_id: sessionId, solution } = request.body;
      const { bucket } = await admitVisitor(deps, { request, reply, publicKey });
      const challenged = { publicKey, sessionId: sessionId.toLowerCase(), clientBucket: bucket };
      const { pass, expiresAt } = await redeemSolution(deps, challenged, solution);
      return reply
        .header("cache-control", "no-store")
        .send({ challenge_pass: pass, expires_at: expiresAt.toISOString(), messages: MESSAGES_OF_PASS });
    },
  });
}
