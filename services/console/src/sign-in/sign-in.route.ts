import type { FastifyInstance, FastifyReply } from "fastify";
import { HttpError } from "../http/index.ts";
import type { SessionCookies } from "./cookies.ts";
import type { ProviderClient } from "./provider.client.ts";
import { describeSession, readClaims, type Session, safeReturnPath, type TokenOptions } from "./session.ts";

export type SignInDeps = {
  cookies: SessionCookies;
  provider: ProviderClient;
  tokenOptions: TokenOptions;
  origin: string;
  nowMs: () => number;
  onResult: (result: string) => void;
};

/** If the access token is valid for longer than this, another tab has probably just refreshed it, and POST /auth/refresh keeps it. */
const REFRESH_BEFORE_MS = 2 * 60 * 1_000;

/** Adds the routes that sign in (authorization code flow with PKCE), return the session to the page, refresh the session and sign out. */
export function signInRoutes(app: FastifyInstance, deps: SignInDeps): void {
  const { cookies, provider, tokenOptions, nowMs, onResult } = deps;

  app.get<{ Querystring: { return_to?: string } }>("/auth/sign-in", async (request, reply) => {
    reply.header("cache-control", "no-store");
    const returnTo = safeReturnPath(request.query.return_to);
    try {
      const { url, pending } = await provider.begin(returnTo);
      await cookies.writePending(request, reply, pending);
      return reply.redirect(url.href);
    } catch (error) {
      return failSignIn(reply, error, returnTo, onResult);
    }
  });

  app.get<{ Querystring: { state?: string } }>("/auth/callback", async (request, reply) => {
    reply.header("cache-control", "no-store");
    const pending = await cookies.readPending(request, request.query.state ?? "");
    try {
      if (pending !== undefined) cookies.clearPending(reply, pending);
      if (pending === undefined || pending.isExpired) throw new HttpError(400, "sign_in_expired");
      const tokens = await provider.complete(new URL(request.url, deps.origin), pending);
      await store(reply, { ...tokens, startedAtMs: nowMs() });
      onResult("signed_in");
      return reply.redirect(pending.returnTo);
    } catch (error) {
      return failSignIn(reply, error, pending?.returnTo ?? "/", onResult);
    }
  });

  app.get("/auth/session", async (request, reply) => {
    const session = await cookies.readSession(request);
    if (session === undefined) throw new HttpError(401, "authentication_required");
    const info = describeSession(session, tokenOptions, nowMs());
    if (info === undefined) throw new HttpError(401, "token_expired");
    return reply.header("cache-control", "no-store").send(info);
  });

  app.post("/auth/refresh", async (request, reply) => {
    const session = await cookies.readSession(request);
    if (session === undefined) throw new HttpError(401, "authentication_required");
    const current = describeSession(session, tokenOptions, nowMs() + REFRESH_BEFORE_MS);
    if (current !== undefined) return reply.header("cache-control", "no-store").send(current);
    const next = await refresh(session, reply).catch((error: unknown) => {
      onResult(codeOf(error));
      throw error;
    });
    // `info` is also undefined if the new access token has expired already, for example because the clocks of the provider and
    // the console differ.
    const info = next && describeSession(next, tokenOptions, nowMs());
    onResult(info === undefined ? "session_ended" : "refreshed");
    if (info === undefined) {
      cookies.clearSession(reply);
      throw new HttpError(401, "authentication_required");
    }
    return reply.header("cache-control", "no-store").send(info);
  });

  app.post("/auth/sign-out", async (request, reply) => {
    const session = await cookies.readSession(request);
    cookies.clearSession(reply);
    // If the provider cannot revoke the tokens, the user is signed out of the console, but the tokens stay valid until they expire.
    if (session !== undefined)
      await provider
        .revoke(session)
        .catch((error: unknown) => request.log.warn({ error }, "token revocation failed at sign-out"));
    return reply.code(204).header("cache-control", "no-store").send();
  });

  /** Stores and returns the session with new tokens. Returns undefined without a refresh token or if the provider no longer accepts it. */
  async function refresh({ refreshToken, startedAtMs }: Session, reply: FastifyReply): Promise<Session | undefined> {
    const tokens = refreshToken === undefined ? undefined : await provider.refresh(refreshToken);
    if (tokens === undefined) return undefined;
    const next = { ...tokens, startedAtMs };
    await store(reply, next);
    return next;
  }

  async function store(reply: FastifyReply, session: Session): Promise<void> {
    const claims = readClaims(session.accessToken, tokenOptions);
    if (typeof claims === "string") throw new HttpError(400, claims);
    if (!(await cookies.writeSession(reply, session))) throw new HttpError(400, "session_too_large");
  }
}

/** Logs and counts a failed sign-in. Redirects to the sign-in page, which explains the code and can repeat the sign-in. */
function failSignIn(
  reply: FastifyReply,
  error: unknown,
  returnTo: string,
  onResult: (result: string) => void,
): FastifyReply {
  const code = codeOf(error);
  reply.log.warn({ error, code }, "sign-in failed");
  onResult(code);
  const search = new URLSearchParams({ error: code, ...(returnTo !== "/" && { return_to: returnTo }) });
  return reply.redirect(`/sign-in?${search}`);
}

function codeOf(error: unknown): string {
  return error instanceof HttpError ? error.code : "internal_error";
}
