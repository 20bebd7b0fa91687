import type { Environment } from "../settings/environment.ts";
import type { AccessTokenOptions, RoleOptions } from "./access-token.ts";

export type JwtSettings = AccessTokenOptions & { jwksUrl: string };

const VARIABLES = {
  issuer: ["JWT_ISSUER", "the iss claim of your identity provider's access tokens"],
  audience: ["JWT_AUDIENCE", "the aud claim of your identity provider's access tokens"],
  jwksUrl: ["JWKS_URL", "where your identity provider publishes its keys"],
} as const;
const JWKS_SCHEMES = ["https", "http", "file"];

/** Reads the settings for verifying access tokens. */
export function readJwtSettings(environment: Environment): JwtSettings {
  return {
    issuer: environment.requiredText(...VARIABLES.issuer),
    audience: environment.requiredText(...VARIABLES.audience),
    jwksUrl: environment.requiredUrl(VARIABLES.jwksUrl[0], JWKS_SCHEMES, VARIABLES.jwksUrl[1]),
    workspaceClaim: environment.text("JWT_WORKSPACE_CLAIM", "workspace_id"),
    roles: readRoles(environment),
  };
}

/** Like readJwtSettings, but returns undefined if none of the required variables is set. If some are set, reports the missing ones as problems. */
export function readOptionalJwtSettings(environment: Environment): JwtSettings | undefined {
  const isAnySet = Object.values(VARIABLES).some(([name]) => environment.optionalText(name) !== undefined);
  return isAnySet ? readJwtSettings(environment) : undefined;
}

function readRoles(environment: Environment): RoleOptions | undefined {
  const claim = environment.optionalText("JWT_ROLE_CLAIM");
  const owner = environment.list("JWT_OWNER_ROLES");
  const agent = environment.list("JWT_AGENT_ROLES");
  const viewer = environment.list("JWT_VIEWER_ROLES");
  const hasRoles = owner.length + agent.length + viewer.length > 0;
  if (claim === undefined && hasRoles)
    environment.addProblem(
      "JWT_ROLE_CLAIM is not set: the claim that holds a role from JWT_OWNER_ROLES, JWT_AGENT_ROLES or JWT_VIEWER_ROLES",
    );
  if (claim !== undefined && !hasRoles)
    environment.addProblem(
      "JWT_OWNER_ROLES, JWT_AGENT_ROLES or JWT_VIEWER_ROLES must be set: the values of the claim in JWT_ROLE_CLAIM that mean owner, agent or viewer",
    );
  return claim === undefined ? undefined : { claim, owner, agent, viewer };
}
