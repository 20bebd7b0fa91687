import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";

export type Cloud = {
  /** From now on, the token service refuses requests, and the tokens that it has issued expire. */
  refuse(): void;
  close(): Promise<void>;
};

/**
 * Starts a cloud's token service, which exchanges the pod's token for an access token, and configures this process to use it: workload identity
 * federation, as on Kubernetes.
 */
export async function startCloud(): Promise<Cloud> {
  let isRefusing = false;
  const server = createServer((request, response) => {
    request.resume();
    const token = { access_token: "token-of-the-cloud", token_type: "Bearer", expires_in: 3600 };
    const issued = { ...token, issued_token_type: "urn:ietf:params:oauth:token-type:access_token" };
    response.writeHead(isRefusing ? 400 : 200, { "content-type": "application/json" });
    response.end(
      JSON.stringify(isRefusing ? { error: "invalid_grant", error_description: "token-of-the-pod" } : issued),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const folder = mkdtempSync(join(tmpdir(), "cloud-"));
  const [tokenPath, credentialsPath] = [join(folder, "token"), join(folder, "credentials.json")];
  writeFileSync(tokenPath, "token-of-the-pod");
  writeFileSync(
    credentialsPath,
    JSON.stringify({
      type: "external_account",
      audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/cluster",
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      token_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/token`,
      credential_source: { file: tokenPath },
    }),
  );
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", credentialsPath);
  return {
    refuse: () => {
      isRefusing = true;
    },
    async close() {
      vi.unstubAllEnvs();
      rmSync(folder, { recursive: true });
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}
