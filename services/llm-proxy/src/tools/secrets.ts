import type { ToolSecret } from "../settings/index.ts";
import { failureOf } from "./failures.ts";

/** What a request carries, and what must not come back in its answer. */
export type Credentials = { headers: Record<string, string>; conceal: (text: string) => string };

const NONE: Credentials = { headers: {}, conceal: (text) => text };

/** The header of a declared secret, for a URL and a workspace that it was declared for; none for an empty name. Throws ToolFailure. */
export function credentialsFor(
  secrets: Readonly<Record<string, ToolSecret>>,
  name: string,
  url: string,
  workspaceId: string,
): Credentials {
  if (name === "") return NONE;
  const secret = Object.hasOwn(secrets, name) ? secrets[name] : undefined;
  const notAllowed = (detail: string) => failureOf("not_allowed", detail);
  if (secret === undefined) throw notAllowed(`no secret ${name} is declared`);
  if (!secret.origins.includes(new URL(url).origin))
    throw notAllowed(`the secret ${name} is not declared for this host`);
  if (!secret.workspaces.includes("*") && !secret.workspaces.includes(workspaceId))
    throw notAllowed(`the secret ${name} is not declared for this workspace`);
  return {
    headers: { [secret.header]: secret.scheme === "" ? secret.value : `${secret.scheme} ${secret.value}` },
    conceal: (text) => text.replaceAll(secret.value, "[secret]"),
  };
}
