import { CODE_METADATA_KEY } from "@parley/rpc/code";
import { type DeclaredBody, type MemberCallLimiter, ServiceError, type TokenVerifier } from "@parley/service-kit";
import type { FastifyReply, FastifyRequest } from "fastify";
import { HttpError, hasBearerToken, responseCloseSignal } from "../http/index.ts";
import type { SessionCookies } from "./cookies.ts";
import { describeSession, type SessionInfo, type TokenOptions } from "./session.ts";

/** `authorization` is the header to forward. */
export type Member = { authorization: string; workspaceId: string };

/** Returns undefined if the request has no session, or if the session has ended or its access token has expired. */
export type ReadSessionInfo = (request: FastifyRequest) => Promise<SessionInfo | undefined>;

export function createReadSessionInfo(
  cookies: SessionCookies,
  tokenOptions: TokenOptions,
  nowMs: () => number,
): ReadSessionInfo {
  return async (request) => {
    const session = await cookies.readSession(request);
    return session && describeSession(session, tokenOptions, nowMs());
  };
}

/**
 * Authenticates a request by its bearer token, or by its session if it has no token. Throws 401 if the token or the session is not valid, and
 * 503 if the key set that verifies tokens is unavailable.
 */
export type Authenticate = (request: FastifyRequest) => Promise<Member>;

/**
 * Verifies bearer tokens, although the services verify them again. Otherwise a request with an invalid token would occupy memory for its body,
 * and would count against the console's address in the edge's rate limit.
 */
export function createAuthenticate(
  cookies: SessionCookies,
  tokenOptions: TokenOptions,
  verifyToken: TokenVerifier,
  nowMs: () => number,
): Authenticate {
  return async (request) => {
    const { authorization } = request.headers;
    if (authorization !== undefined && hasBearerToken(request)) {
      const { workspaceId } = await verifyToken(authorization).catch((error: unknown) => {
        throw translateServiceError(error);
      });
      return { authorization, workspaceId };
    }
    const session = await cookies.readSession(request);
    if (session === undefined) throw new HttpError(401, "authentication_required");
    const info = describeSession(session, tokenOptions, nowMs());
    if (info === undefined) throw new HttpError(401, "token_expired");
    return { authorization: `Bearer ${session.accessToken}`, workspaceId: info.workspace_id };
  };
}

function translateServiceError(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  switch (error.kind) {
    case "unavailable":
      return new HttpError(503, error.code, { "retry-after": "5" }, { cause: error });
    case "resource_exhausted":
      // Clients of the admin services read the code in this header.
      return new HttpError(429, error.code, { "retry-after": "5", [CODE_METADATA_KEY]: error.code }, { cause: error });
    default:
      return new HttpError(401, error.code, {}, { cause: error });
  }
}

/** Returns a hook that authenticates a call and waits until its body may be read. */
export function createCallHook(authenticate: Authenticate, limiter: MemberCallLimiter) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { authorization, workspaceId } = await authenticate(request);
    request.forwardedAuthorization = authorization;
    await limiter.enter(workspaceId, readDeclaredBody(request), responseCloseSignal(reply)).catch((error: unknown) => {
      throw translateServiceError(error);
    });
  };
}

function readDeclaredBody({ headers }: FastifyRequest): DeclaredBody {
  return { contentLength: headers["content-length"], isCompressed: headers["content-encoding"] !== undefined };
}
