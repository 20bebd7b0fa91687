import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { vi } from "vitest";

export type AwsCloud = {
  /** The bodies of the requests for credentials. */
  requests: string[];
  /** From now on, the token service refuses requests. */
  refuse(): void;
  close(): Promise<void>;
};

const XMLNS = 'xmlns="https://sts.amazonaws.com/doc/2011-06-15/"';

/**
 * Starts AWS's token service, which exchanges the pod's token for the credentials of a role, and configures this process to use it, as on EKS with IAM
 * roles for service accounts.
 */
export async function startAwsCloud(): Promise<AwsCloud> {
  let isRefusing = false;
  const requests: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push(body);
      response.writeHead(isRefusing ? 403 : 200, { "content-type": "text/xml" });
      response.end(isRefusing ? REFUSAL : issueCredentials());
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const folder = mkdtempSync(join(tmpdir(), "cloud-"));
  const tokenPath = join(folder, "token");
  writeFileSync(tokenPath, "token-of-the-pod");
  const variables = {
    AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/parley",
    AWS_WEB_IDENTITY_TOKEN_FILE: tokenPath,
    AWS_ENDPOINT_URL_STS: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    AWS_CONFIG_FILE: join(folder, "none"),
    AWS_SHARED_CREDENTIALS_FILE: join(folder, "none"),
    AWS_EC2_METADATA_DISABLED: "true",
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  return {
    requests,
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

const REFUSAL = `<ErrorResponse ${XMLNS}><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>token-of-the-pod</Message></Error></ErrorResponse>`;

function issueCredentials(): string {
  const fields = {
    AccessKeyId: "ASIAOFTHEROLE",
    SecretAccessKey: "secret-of-the-role",
    SessionToken: "token-of-the-role",
    Expiration: new Date(Date.now() + 3_600_000).toISOString(),
  };
  const credentials = Object.entries(fields).map(([name, value]) => `<${name}>${value}</${name}>`);
  const result = `<Credentials>${credentials.join("")}</Credentials>`;
  return `<AssumeRoleWithWebIdentityResponse ${XMLNS}><AssumeRoleWithWebIdentityResult>${result}</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;
}
