import { randomUUID } from "node:crypto";
import { vi } from "vitest";
import {
  createTenant,
  failFastSettings,
  type System,
  type SystemOptions,
  startSystem,
  type Tenant,
} from "../../system/system.ts";
import { TRUST_FORWARDED_FOR } from "../../system/visitors.ts";
import { type Api, type ApiResponse, createApi } from "./api.ts";

/** A whole system and a client of its first edge. */
export type ContractSystem = System & { api: Api };

/**
 * Starts a system whose edges trust this machine as their proxy, so that each call can claim its own client address. The providers
 * `openai` and `patient` are the same fake provider: `openai` has short timeouts, `patient` the default ones.
 */
export async function startContractSystem({ env = {}, ...options }: SystemOptions = {}): Promise<ContractSystem> {
  const system = await startSystem({
    llmConfig: (base_url) => ({
      default_model: "openai:default",
      providers: {
        openai: {
          base_url,
          api_key_env: "OPENAI_API_KEY",
          ...failFastSettings(1_500),
        },
        patient: { base_url },
      },
    }),
    ...options,
    env: { ...env, edge: { ...TRUST_FORWARDED_FOR, ...env.edge } },
  });
  return { ...system, api: await createApi(system.url()) };
}

export async function addKey({ admin }: System, tenant: Tenant, domains: string[]): Promise<Tenant> {
  const { workspaceId, botSlug } = tenant;
  const { key } = await admin.keys.createKey({ workspaceId, botSlug, domains });
  return { ...tenant, publicKey: key?.publicKey ?? "", origin: `https://${domains[0]}` };
}

/** A workspace of a suite about visitors, and the secret with which its visitor tokens are signed. */
export type VisitorWorkspace = { system: ContractSystem; api: Api; tenant: Tenant; secret: string };

export async function createVisitorWorkspace(system: ContractSystem): Promise<VisitorWorkspace> {
  const tenant = await createTenant(system.admin, { plan: "scale" });
  return { system, api: system.api, tenant, secret: await addIdentityKey(system, tenant) };
}

/** Adds an identity key to the tenant's workspace. Returns its secret. */
export async function addIdentityKey({ admin }: System, { workspaceId }: Tenant): Promise<string> {
  return (await admin.identityKeys.createIdentityKey({ workspaceId })).secret;
}

/** Creates another bot in the tenant's workspace, with a key for the same origin. */
export async function addBot(
  { admin }: System,
  tenant: Tenant,
  botSlug: string,
  model = "openai:default",
): Promise<Tenant> {
  const { workspaceId } = tenant;
  await admin.bots.createBot({ workspaceId, slug: botSlug, changes: { model, name: "Another bot" } });
  const { key } = await admin.keys.createKey({ workspaceId, botSlug, domains: [new URL(tenant.origin).host] });
  return { ...tenant, botSlug, publicKey: key?.publicKey ?? "" };
}

/** Returns token claims for a user of the workspace. The default is a new user, so that calls do not share a rate limit. */
export function memberClaims({ sso }: System, { workspaceId }: Tenant, user: string = randomUUID()) {
  const now = Math.floor(Date.now() / 1_000);
  return { iss: sso.issuer, aud: sso.audience, sub: user, iat: now, exp: now + 300, workspace_id: workspaceId };
}

/** Returns an access token of the tenant's workspace, without a role. */
export function createMemberToken(system: System, tenant: Tenant, user?: string): Promise<string> {
  return system.sso.sign(memberClaims(system, tenant, user));
}

type Transcript = { session: Record<string, unknown>; messages: Record<string, unknown>[] };

/** Returns a session's export. Throws if the export is refused. */
export async function readTranscript(system: ContractSystem, tenant: Tenant, sessionId: string): Promise<Transcript> {
  const answer = await system.api.exportTranscript(await createMemberToken(system, tenant), sessionId);
  if (answer.status !== 200) throw new Error(`export failed: ${answer.status} ${answer.text}`);
  return answer.body as Transcript;
}

/** Waits up to 20 s until the workspace has no holds. Then returns the number of messages used this month. */
export async function waitForUsedMessages({ admin }: System, { workspaceId }: Tenant): Promise<number> {
  const readSettledUsage = async () => {
    const { usage } = await admin.workspaces.showUsage({ workspaceId });
    if (usage?.held !== 0) throw new Error(`workspace ${workspaceId} has ${usage?.held} holds`);
    return usage.used;
  };
  return vi.waitFor(readSettledUsage, { timeout: 20_000, interval: 20 });
}

/** A key with a wrong checksum. The conversation service refuses it without a query. */
export const MALFORMED_KEY = `svc_pk_${"0".repeat(32)}`;
/** A key that was never created. Its checksum is valid. */
export const UNKNOWN_KEY = `svc_pk_${"0".repeat(26)}3vSKjy`;

/** Formats a refusal like formatError and formatDetail, so that the texts can be compared. */
export const formatRefusal = ({ status, text }: ApiResponse) => `${status} ${text}`;

export const formatError = (status: number, code: string) => `${status} {"error":"${code}"}`;

export const formatDetail = (status: number, code: string) => `${status} {"detail":"${code}"}`;
