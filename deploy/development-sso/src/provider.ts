import Provider, { type Configuration, type JWK } from "oidc-provider";
import { type Config, isLoopback } from "./config.ts";

/** Client id of the console. The console is a public client: PKCE protects the authorization code. */
export const CONSOLE_CLIENT_ID = "parley-console";

const SESSION_TTL_SECONDS = 12 * 3_600;

/** The accounts with the roles `agent` and `viewer`. */
const [AGENT, VIEWER] = ["demo-agent", "demo-viewer"];

/**
 * Creates an identity provider for development, which asks for no password. It signs in the account that the authorization request names
 * in `login_hint`, by default `config.owner`. If `issuesAnyToken` is set, the provider also issues tokens for any workspace:
 *
 *   curl -u parley:parley -d grant_type=client_credentials -d workspace=ws_… -d role=owner http://localhost:8094/token
 */
export function createProvider(config: Config, key: JWK): Provider {
  const { issuer, audience, consoleUrl, owner } = config;
  const resource = `urn:${audience}`;
  const algorithm = key.alg as "ES256" | "RS256";
  const accountClaims = (accountId: string) => {
    switch (accountId) {
      case owner:
        return { roles: ["owner"], name: "Demo owner" };
      case AGENT:
        return { roles: ["agent"], name: "Demo agent" };
      case VIEWER:
        return { roles: ["viewer"], name: "Demo viewer" };
      default:
        return { name: accountId };
    }
  };
  const provider = new Provider(issuer, {
    jwks: { keys: [key] },
    clients: [
      ...(config.issuesAnyToken ? [ANY_TOKEN_CLIENT] : []),
      ...(consoleUrl === undefined
        ? []
        : [
            {
              client_id: CONSOLE_CLIENT_ID,
              id_token_signed_response_alg: algorithm,
              token_endpoint_auth_method: "none" as const,
              grant_types: ["authorization_code", "refresh_token"],
              response_types: ["code" as const],
              redirect_uris: [`${consoleUrl}/auth/callback`],
            },
          ]),
    ],
    pkce: { required: () => true },
    ttl: {
      AccessToken: config.tokenTtlSeconds,
      RefreshToken: SESSION_TTL_SECONDS,
      Session: SESSION_TTL_SECONDS,
      Grant: SESSION_TTL_SECONDS,
    },
    issueRefreshToken: async () => true,
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_, { uid }) => `/sign-in/${uid}` },
    // Shows no consent page: the user has already clicked "Sign in" in the console.
    async loadExistingGrant(ctx) {
      const { session, client } = ctx.oidc;
      if (session?.accountId === undefined || client === undefined) return undefined;
      const grant = new ctx.oidc.provider.Grant({ accountId: session.accountId, clientId: client.clientId });
      grant.addOIDCScope("openid");
      grant.addResourceScope(resource, "");
      await grant.save();
      return grant;
    },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: config.issuesAnyToken },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "",
          audience,
          accessTokenTTL: config.tokenTtlSeconds,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: algorithm } },
        }),
      },
    },
    extraTokenClaims(ctx, token) {
      if (token.kind === "AccessToken")
        return { [config.workspaceClaim]: config.workspaceId, ...accountClaims(token.accountId) };
      const { workspace, role } = (ctx.oidc.body ?? {}) as { workspace?: string; role?: string };
      return { ...(workspace && { [config.workspaceClaim]: workspace }), ...(role && { roles: [role] }) };
    },
  } satisfies Configuration);
  provider.use(async (ctx, next) => {
    // Prevents DNS rebinding: a page of another site could reach the sign-in through a host name that resolves to this machine.
    if (!isLoopback(ctx.hostname)) {
      ctx.status = 421;
      ctx.body = "wrong host\n";
      return;
    }
    if (!ctx.path.startsWith("/sign-in/")) {
      await next();
      return;
    }
    const { params } = await provider.interactionDetails(ctx.req, ctx.res);
    const accountId = typeof params.login_hint === "string" ? params.login_hint : owner;
    await provider.interactionFinished(ctx.req, ctx.res, { login: { accountId } });
    ctx.respond = false;
  });
  return provider;
}

const ANY_TOKEN_CLIENT = {
  client_id: "parley",
  client_secret: "parley",
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: [],
};
