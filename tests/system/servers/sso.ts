import { createServer } from "node:http";
import { freePort } from "@parley/test-support";
import { exportJWK, generateKeyPair, importJWK, type JWK, type JWTPayload, SignJWT } from "jose";
import Provider, { type Adapter, type Configuration } from "oidc-provider";

/** A client of a running identity provider. */
export type SsoClient = {
  issuer: string;
  audience: string;
  jwksUrl: string;
  /**
   * Requests a user's access token from the OAuth 2.0 token endpoint. Without `workspaceId` the token has no workspace claim. Without `role`
   * it has no roles.
   */
  token(options: { workspaceId?: string; user?: string; role?: "owner" | "agent" | "viewer" }): Promise<string>;
  /** Signs any claims with the identity provider's key, even claims that the provider would never issue. */
  sign(claims: JWTPayload): Promise<string>;
};

export type Sso = SsoClient & {
  /** The identity provider's private key. */
  signingKey: JWK;
  stop(): Promise<void>;
};

const AUDIENCE = "https://parley.test/api";
const CLIENT_SECRET = "secret-of-the-test-client";
const KEY_ID = "sso-1";
/** Each user is an OAuth client, so that a user's token needs no sign-in in a browser. */
const USERS = ["owner", "second-owner", "operator"];
const TOKEN_TTL_S = 3_600;

/** Stores nothing, because access tokens are JWTs and the OAuth clients are in the configuration. */
const statelessAdapter = (): Adapter => ({
  upsert: async () => undefined,
  find: async () => undefined,
  findByUserCode: async () => undefined,
  findByUid: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
});

/** Starts an OAuth 2.0 identity provider on loopback. Its access tokens are JWTs. */
export async function startSso(): Promise<Sso> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const signingKey = { ...(await exportJWK(privateKey)), kid: KEY_ID, alg: "RS256", use: "sig" };
  const provider = new Provider(issuer, {
    adapter: statelessAdapter,
    ttl: { ClientCredentials: TOKEN_TTL_S },
    jwks: { keys: [signingKey] },
    clients: USERS.map((user) => ({
      client_id: user,
      client_secret: CLIENT_SECRET,
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
    })),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: "",
          audience: AUDIENCE,
          accessTokenTTL: TOKEN_TTL_S,
          accessTokenFormat: "jwt",
        }),
      },
    },
    extraTokenClaims: (ctx) => {
      const { workspace, role } = (ctx.oidc.body ?? {}) as { workspace?: string; role?: string };
      return { ...(workspace && { workspace_id: workspace }), ...(role && { roles: ["staff", `parley-${role}`] }) };
    },
  } satisfies Configuration);
  const server = createServer(provider.callback());
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    ...(await connectSso({ issuer, signingKey })),
    signingKey,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Returns a client of an identity provider that `startSso` started, for example in another process. */
export async function connectSso({ issuer, signingKey }: Pick<Sso, "issuer" | "signingKey">): Promise<SsoClient> {
  const privateKey = await importJWK(signingKey, "RS256");
  return {
    issuer,
    audience: AUDIENCE,
    jwksUrl: `${issuer}/jwks`,
    async token({ workspaceId, user = "owner", role }) {
      const response = await fetch(`${issuer}/token`, {
        method: "POST",
        headers: { authorization: `Basic ${Buffer.from(`${user}:${CLIENT_SECRET}`).toString("base64")}` },
        body: new URLSearchParams({
          grant_type: "client_credentials",
          resource: AUDIENCE,
          ...(workspaceId === undefined ? {} : { workspace: workspaceId }),
          ...(role === undefined ? {} : { role }),
        }),
      });
      const { access_token: token } = (await response.json()) as { access_token?: string };
      if (token === undefined) throw new Error(`token request failed with status ${response.status}`);
      return token;
    },
    sign: (claims) => new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: KEY_ID }).sign(privateKey),
  };
}
