import { join } from "node:path";
import { POD_TOKEN, startTokenService, type TokenService } from "./token-service.ts";

const XMLNS = 'xmlns="https://sts.amazonaws.com/doc/2011-06-15/"';

/** Starts AWS's token service, which exchanges the pod's token for the credentials of a role, as on EKS with IAM roles for service accounts. */
export function startAwsCloud(): Promise<TokenService> {
  return startTokenService({
    respond: ({ isRefusing }) => ({
      status: isRefusing ? 403 : 200,
      contentType: "text/xml",
      body: isRefusing ? REFUSAL : issueCredentials(),
    }),
    configure: ({ url, folder, tokenPath }) => ({
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/parley",
      AWS_WEB_IDENTITY_TOKEN_FILE: tokenPath,
      AWS_ENDPOINT_URL_STS: url,
      AWS_CONFIG_FILE: join(folder, "none"),
      AWS_SHARED_CREDENTIALS_FILE: join(folder, "none"),
      AWS_EC2_METADATA_DISABLED: "true",
    }),
  });
}

const REFUSAL = `<ErrorResponse ${XMLNS}><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>${POD_TOKEN}</Message></Error></ErrorResponse>`;

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
