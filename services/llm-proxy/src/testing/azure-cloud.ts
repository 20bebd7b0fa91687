import { createServer } from "node:https";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { generate } from "selfsigned";
import { POD_TOKEN, startTokenService, type TokenService } from "./token-service.ts";

const TENANT = "00000000-0000-4000-8000-000000000001";

export type AzureCloud = TokenService & {
  /** How long the tokens are valid that the service issues from now on; an hour by default. */
  setLifetime(seconds: number): void;
};

/**
 * Starts Azure's token service, which exchanges the pod's token for an access token, as on AKS with workload identity. The library accepts only https,
 * so this process trusts the service's certificate until `close`.
 */
export async function startAzureCloud(): Promise<AzureCloud> {
  const { private: key, cert } = await generate([{ name: "commonName", value: "127.0.0.1" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true },
      { name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] },
    ],
  });
  const trusted = getCACertificates("default");
  setDefaultCACertificates([...trusted, cert]);
  let lifetimeSeconds = 3_600;
  let issued = 0;
  let authority = "";
  const service = await startTokenService({
    create: (listener) => createServer({ key, cert }, listener),
    respond({ path, isRefusing }) {
      const json = (status: number, body: object, isOther = false) => ({
        ...{ status, isOther, contentType: "application/json", body: JSON.stringify(body) },
      });
      if (!path.includes("/oauth2/v2.0/token")) return json(200, describeAuthority(authority), true);
      if (isRefusing) return json(401, { error: "invalid_client", error_description: `AADSTS700211: ${POD_TOKEN}` });
      const token = { token_type: "Bearer", expires_in: lifetimeSeconds, access_token: `token-of-azure-${++issued}` };
      return json(200, token);
    },
    configure({ url, tokenPath }) {
      authority = url;
      return {
        AZURE_AUTHORITY_HOST: `${url}/`,
        AZURE_TENANT_ID: TENANT,
        AZURE_CLIENT_ID: "00000000-0000-4000-8000-000000000002",
        AZURE_FEDERATED_TOKEN_FILE: tokenPath,
      };
    },
  });
  return {
    ...service,
    setLifetime: (seconds) => {
      lifetimeSeconds = seconds;
    },
    async close() {
      setDefaultCACertificates(trusted);
      await service.close();
    },
  };
}

function describeAuthority(authority: string) {
  return {
    issuer: `${authority}/${TENANT}/v2.0`,
    authorization_endpoint: `${authority}/${TENANT}/oauth2/v2.0/authorize`,
    token_endpoint: `${authority}/${TENANT}/oauth2/v2.0/token`,
    jwks_uri: `${authority}/${TENANT}/discovery/v2.0/keys`,
  };
}
