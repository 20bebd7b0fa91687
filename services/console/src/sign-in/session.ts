import type { Role } from "@parley/rpc/access";
import { type AccessTokenOptions, findRole } from "@parley/service-kit";
import { decodeJwt } from "jose";

/** An owner's session. It is stored in the owner's cookies only. */
export type Session = { accessToken: string; refreshToken: string | undefined; startedAtMs: number };

/** The user behind a session, for the page, without a role if the token gives none. The services verify the token; the console only reads it. */
export type SessionInfo = { user: string; workspace_id: string; role?: Role; expires_at: string };

/** A session ends after this time, however often its token is refreshed. */
export const MAX_SESSION_MS = 12 * 60 * 60 * 1_000;

export type TokenTerms = Pick<AccessTokenOptions, "audience" | "workspaceClaim" | "roles">;

export type TokenProblem = "token_not_jwt" | "wrong_audience" | "no_workspace";

type Claims = { user: string; workspaceId: string; role: Role | undefined; expiresAtMs: number };

/** Returns the claims of an access token that the services would accept, or the reason why they would not. */
export function readClaims(accessToken: string, terms: TokenTerms): Claims | TokenProblem {
  let claims: ReturnType<typeof decodeJwt>;
  try {
    claims = decodeJwt(accessToken);
  } catch {
    return "token_not_jwt";
  }
  const { aud = [], exp, sub } = claims;
  if (exp === undefined || sub === undefined) return "token_not_jwt";
  if (![aud].flat().includes(terms.audience)) return "wrong_audience";
  const workspaceId = claims[terms.workspaceClaim];
  if (typeof workspaceId !== "string" || workspaceId === "") return "no_workspace";
  const names = [claims.name, claims.email, claims.preferred_username, sub];
  const user = names.find((each): each is string => typeof each === "string" && each !== "") ?? sub;
  return { user, workspaceId, role: terms.roles && findRole(claims, terms.roles), expiresAtMs: exp * 1_000 };
}

/** Returns what the page may know of a session; undefined when the session or its access token has ended. */
export function describeSession(session: Session, terms: TokenTerms, nowMs: number): SessionInfo | undefined {
  const claims = readClaims(session.accessToken, terms);
  if (typeof claims === "string") return undefined;
  const endsAtMs = Math.min(claims.expiresAtMs, session.startedAtMs + MAX_SESSION_MS);
  if (endsAtMs <= nowMs) return undefined;
  const { user, workspaceId, role } = claims;
  return { user, workspace_id: workspaceId, ...(role && { role }), expires_at: new Date(endsAtMs).toISOString() };
}

/** Returns a path of this console. An address of another site becomes "/". */
export function safeReturnPath(path: unknown): string {
  if (typeof path !== "string" || !URL.canParse(path, BASE)) return "/";
  const { origin, pathname, search } = new URL(path, BASE);
  // Without its dot segments, a path such as /.//evil.example begins with two slashes, and a browser takes what follows for a host.
  return origin === BASE && !pathname.startsWith("//") ? pathname + search : "/";
}

const BASE = "http://console.invalid";
