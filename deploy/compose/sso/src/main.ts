import { createServer } from "node:http";
import { exportJWK, generateKeyPair } from "jose";
import Provider, { type Configuration } from "oidc-provider";
import { readConfig } from "./config.ts";

// A test single sign-on service for docker-compose.yml. It issues a token for any workspace to anyone, so never use it elsewhere.
//
//   curl -u parley:parley -d grant_type=client_credentials -d workspace=ws_… http://localhost:8094/token

// biome-ignore lint/style/noProcessEnv: passes the environment to config.ts
const { issuer, audience, port } = readConfig(process.env);
const { privateKey } = await generateKeyPair("RS256", { extractable: true });

const provider = new Provider(issuer, {
  jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: "RS256", use: "sig" }] },
  clients: [
    {
      client_id: "parley",
      client_secret: "parley",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
    },
  ],
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => `urn:${audience}`,
      getResourceServerInfo: () => ({ scope: "", audience, accessTokenTTL: 3_600, accessTokenFormat: "jwt" }),
    },
  },
  extraTokenClaims: (ctx) => {
    const { workspace } = (ctx.oidc.body ?? {}) as { workspace?: string };
    return workspace === undefined ? undefined : { workspace_id: workspace };
  },
} satisfies Configuration);

const server = createServer(provider.callback());
server.listen(port);
process.once("SIGTERM", () => {
  server.close();
  server.closeAllConnections();
});
