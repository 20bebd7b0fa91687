import { type Caller, ServiceError, type TokenVerifier } from "@parley/service-kit";
import type { FastifyReply, FastifyRequest } from "fastify";
import { HttpError } from "../http/index.ts";
import type { MalformedRequestLimiter } from "../rate-limits/index.ts";

export type AuthDeps = { verifyToken: TokenVerifier; malformedRequests: MalformedRequestLimiter };

/**
 * Verifies a request's access token. Throws 401 authentication_required, 401 no_workspace or 503 auth_unavailable. Counts a missing or
 * invalid token as a malformed request. If the client has then sent too many malformed requests, throws 429 instead of 401.
 */
export async function authenticate(deps: AuthDeps, request: FastifyRequest, reply: FastifyReply): Promise<Caller> {
  try {
    const caller = await deps.verifyToken(request.headers.authorization);
    request.workspaceId = caller.workspaceId;
    return caller;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const isBadToken = error.code === "authentication_required";
    // `count` returns the 429 if the client has sent too many malformed requests.
    throw (isBadToken && (await deps.malformedRequests.count(request, reply))) || translateTokenError(error);
  }
}

/** Returns the rate-limit bucket of a user, the same in all workspaces. The prefix keeps it apart from the buckets of IP addresses. */
export function userBucket({ userId }: Caller): string {
  return `user ${userId}`;
}

function translateTokenError(error: ServiceError): HttpError {
  return error.kind === "unavailable"
    ? new HttpError(503, error.code, { "retry-after": "5" }, { cause: error })
    : new HttpError(401, error.code, {}, { cause: error });
}
