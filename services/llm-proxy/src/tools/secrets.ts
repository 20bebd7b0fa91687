import type { ToolSecret } from "../settings/index.ts";
import { createToolFailure } from "./failures.ts";

/** The headers that authenticate a tool's requests, and a function that removes the secret from the tool's results. */
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
    redact: (text) => text.replaceAll(secret.value, "[secret]"),
  };
}
