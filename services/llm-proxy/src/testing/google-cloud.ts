import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { POD_TOKEN, startTokenService, type TokenService } from "./token-service.ts";

/** Starts Google's token service, which exchanges the pod's token for an access token: workload identity federation, as on Kubernetes. */
export function startGoogleCloud(): Promise<TokenService> {
  return startTokenService({
    respond: ({ isRefusing }) => ({
      status: isRefusing ? 400 : 200,
      contentType: "application/json",
      body: JSON.stringify(isRefusing ? { error: "invalid_grant", error_description: POD_TOKEN } : ISSUED),
    }),
    configure({ url, folder, tokenPath }) {
      const path = join(folder, "credentials.json");
      const audience = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/cluster";
      const credentials = {
        type: "external_account",
        audience,
        subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
        token_url: `${url}/v1/token`,
        credential_source: { file: tokenPath },
      };
      writeFileSync(path, JSON.stringify(credentials));
      return { GOOGLE_APPLICATION_CREDENTIALS: path };
    },
  });
}

const ISSUED = {
  access_token: "token-of-the-cloud",
  token_type: "Bearer",
  expires_in: 3600,
  issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
};
