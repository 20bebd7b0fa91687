import type { Caller } from "@parley/service-kit";
import type { FastifyReply, FastifyRequest } from "fastify";
import { addressBucket, HttpError } from "../http/index.ts";
import { enforceRateLimit, type Policy, type RateLimiter } from "../rate-limits/index.ts";
import { type AuthDeps, authenticate } from "./authenticate.ts";

/**
 * Verifies a request's access token. If the verification fails with 401, counts the request against the policy's limit for the client's
 * address.
 */
export async function authenticateOrCountFailure(
  deps: AuthDeps & { limiter: RateLimiter },
  request: FastifyRequest,
  reply: FastifyReply,
  policy: Policy,
): Promise<Caller> {
  try {
    return await authenticate(deps, request, reply);
  } catch (error) {
    if (error instanceof HttpError && error.status === 401)
      await enforceRateLimit(deps.limiter, policy, addressBucket(request.ip), reply);
    throw error;
  }
}
