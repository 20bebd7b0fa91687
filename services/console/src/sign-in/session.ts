import { createHash } from "node:crypto";
import type { Role } from "@parley/rpc/access";
import { type AccessTokenOptions, findClaim, findRole } from "@parley/service-kit";
import { decodeJwt, type JWTPayload } from "jose";

/** A member's session. The server does not store it: it is in the member's cookies. */
export type Session = { accessToken: string; refreshToken: string | undefined; startedAtMs: number };

/**
 * The part of a session that the page may read. `role` is absent if the access token gives no role, or if no roles are configured. The console
 * does not verify a session's access token: the services do.
 */
export type SessionInfo = {
  user: string;
  /** Identifies the member when they answer visitors. */
  agent_id: string;
  workspace_id: string;
  role?: Role;
  expires_at: string;
};

/** A session ends after this time, however often its token is refreshed. */
export const MAX_SESSION_MS = 12 * 60 * 60 * 1_000;

export type TokenOptions = Pick<AccessTokenOptions, "audience" | "workspaceClaim" | "roles">;

export type TokenProblem = "token_not_jwt" | "wrong_audience" | "no_workspace";

type Claims = {
  user: string;
  /** The member as visitors see them. */
  agent: Agent;
  workspaceId: string;
  role: Role | undefined;
  expiresAtMs: number;
};

/** A person who answers visitors: see Agent in conversation.proto, which also limits both fields to 200 characters. */
export type Agent = { id: string; name: string };

/** Reads an access token without verifying it. Returns its claims, or the reason why the services would refuse it. */
export function readClaims(accessToken: string, tokenOptions: TokenOptions): Claims | TokenProblem {
  let claims: ReturnType<typeof decodeJwt>;
  try {
    claims = decodeJwt(accessToken);
  } catch {
    return "token_not_jwt";
  }
  const { aud = [], exp, sub } = claims;
  if (exp === undefined || sub === undefined) return "token_not_jwt";
  if (![aud].flat().includes(tokenOptions.audience)) return "wrong_audience";
  const workspaceId = findClaim(claims, tokenOptions.workspaceClaim);
  if (typeof workspaceId !== "string" || workspaceId === "") return "no_workspace";
  return {
    user: findName(claims) ?? sub,
    agent: toAgent(claims),
    workspaceId,
    role: tokenOptions.roles && findRole(claims, tokenOptions.roles),
    expiresAtMs: exp * 1_000,
  };
}

/** Returns the person that a verified access token identifies. `authorization` is the header with the token. */
export function readAgent(authorization: string): Agent {
  return toAgent(decodeJwt(authorization.replace(/^Bearer /i, "")));
}

const MAX_AGENT_CHARACTERS = 200;
/** What visitors see of a member whose token has no name: not the claim sub, which is an internal id. */
const NAMELESS_AGENT = "Agent";

function toAgent(claims: JWTPayload): Agent {
  const { sub = "" } = claims;
  const name = findName(claims) ?? NAMELESS_AGENT;
  // Of an e-mail address, visitors see the part before the @ only.
  const [, local = name] = /^([^@\s]+)@[^@\s]+$/.exec(name) ?? [];
  return {
    // Identity providers may have longer ids.
    id: [...sub].length <= MAX_AGENT_CHARACTERS ? sub : createHash("sha256").update(sub).digest("hex"),
    name: [...local].slice(0, MAX_AGENT_CHARACTERS).join(""),
  };
}

function findName({ name, email, preferred_username: userName }: JWTPayload): string | undefined {
  return [name, email, userName].find((each): each is string => typeof each === "string" && each.trim() !== "");
}

/** Describes a session for the page. Returns undefined if the session has ended, or if its access token has expired or is not usable. */
export function describeSession(session: Session, tokenOptions: TokenOptions, nowMs: number): SessionInfo | undefined {
  const claims = readClaims(session.accessToken, tokenOptions);
  if (typeof claims === "string") return undefined;
  const endsAtMs = Math.min(claims.expiresAtMs, session.startedAtMs + MAX_SESSION_MS);
  if (endsAtMs <= nowMs) return undefined;
  const { user, agent, workspaceId, role } = claims;
  return {
    user,
    agent_id: agent.id,
    workspace_id: workspaceId,
    ...(role && { role }),
    expires_at: new Date(endsAtMs).toISOString(),
  };
}

/** The base of relative paths. No real site has this origin, because the domain `invalid` is reserved. */
const BASE = "http://console.invalid";

/** A sign-in stores the path in an encrypted cookie. With a longer path, the cookie would exceed the 4,096 bytes that browsers accept. */
const MAX_RETURN_PATH_LENGTH = 2_000;

/** Returns the path without its fragment if it is a path of this console and not too long to store. Otherwise returns "/". */
export function safeReturnPath(path: unknown): string {
  if (typeof path !== "string" || !URL.canParse(path, BASE)) return "/";
  const { origin, pathname, search } = new URL(path, BASE);
  // URL parsing removes dot segments. A path such as /.//evil.example then begins with two slashes, and a browser would read a host after them.
  // A blob: URL can have BASE as its origin. Its pathname is a whole URL, which does not begin with a slash.
  const isSafe = origin === BASE && /^\/(?!\/)/.test(pathname);
  return isSafe && pathname.length + search.length <= MAX_RETURN_PATH_LENGTH ? pathname + search : "/";
}
