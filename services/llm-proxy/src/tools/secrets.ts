import type { ToolSecret } from "../settings/index.ts";
import { containsEncodedSecret } from "./encoded-secrets.ts";
import { createToolFailure } from "./failures.ts";
import { ToolFailure } from "./tool-call.ts";

/**
 * The headers that authenticate a tool's requests, and a function that removes the secret from the tool's results. It throws ToolFailure if a
 * result contains the secret in an encoded form, because the whole result could then reveal it.
 */
export type Credentials = { headers: Record<string, string>; redact: (text: string) => string };

export type SecretUse = {
  /** The secret's name; empty for none. */
  name: string;
  url: string;
  workspaceId: string;
};

const NO_CREDENTIALS: Credentials = { headers: {}, redact: (text) => text };

/** Throws ToolFailure unless the secret is declared for the tool's host (with its scheme and port) and for the workspace. */
export function findCredentials(
  secrets: Readonly<Record<string, ToolSecret>>,
  { name, url, workspaceId }: SecretUse,
): Credentials {
  if (name === "") return NO_CREDENTIALS;
  const secret = Object.hasOwn(secrets, name) ? secrets[name] : undefined;
  if (secret === undefined) throw createToolFailure("not_allowed", `the secret ${name} is not declared`);
  if (!secret.origins.includes(new URL(url).origin))
    throw createToolFailure("not_allowed", `the secret ${name} is not declared for this host`);
  if (!secret.workspaces.includes("*") && !secret.workspaces.includes(workspaceId))
    throw createToolFailure("not_allowed", `the secret ${name} is not declared for this workspace`);
  return {
    headers: { [secret.header]: secret.scheme === "" ? secret.value : `${secret.scheme} ${secret.value}` },
    redact: createRedact(secret),
  };
}

function createRedact({ value, scheme }: ToolSecret): Credentials["redact"] {
  const secrets = [value, ...(/^basic$/i.test(scheme) ? partsOfBasicCredentials(value) : [])].filter(
    (each) => each !== "",
  );
  // The longest first, because it may contain the others.
  secrets.sort((a, b) => b.length - a.length);
  return (text) => {
    const redacted = secrets.reduce((rest, secret) => rest.replaceAll(secret, "[secret]"), text);
    if (!containsEncodedSecret(redacted, secrets)) return redacted;
    throw new ToolFailure("failed", "the tool's result is withheld, because it contains a secret", "secret_in_result");
  };
}

/** Returns `user:password` and the password, which a server may send back decoded. */
function partsOfBasicCredentials(value: string): string[] {
  const credentials = Buffer.from(value, "base64").toString();
  const separator = credentials.indexOf(":");
  return separator === -1 ? [] : [credentials, credentials.slice(separator + 1)];
}
