import type { FastifyReply, FastifyRequest } from "fastify";
import { HttpError } from "../http/index.ts";
import type { MalformedRequests } from "../rate-limits/index.ts";
import type { Caller, TokenVerifier } from "./access-token.ts";

export type AuthDeps = { verifyToken: TokenVerifier; malformed: MalformedRequests };

/** Verifies a request's access token. Counts a missing or invalid token as a malformed request, because verifying costs CPU. */
export async function authenticate(deps: AuthDeps, request: FastifyRequest, reply: FastifyReply): Promise<Caller> {
  try {
    return await deps.verifyToken(request.headers.authorization);
  } catch (error) {
    const isBadToken = error instanceof HttpError && error.code === "authentication_required";
    throw (isBadToken && (await deps.malformed.count(request, reply))) || error;
  }
}
