import { createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  AuditLogAdminService,
  BotAdminService,
  KeyAdminService,
  KnowledgeAdminService,
  SessionAdminService,
} from "@parley/rpc/conversation";
import { AuditLogAdminService as QuotaAuditLogAdminService } from "@parley/rpc/quota";
import type { ServicePorts, SharedSystem } from "../system/shared-system.ts";
import { createTenant } from "../system/system.ts";

export function createOpsTransport({ opsPort }: ServicePorts, token: string) {
  const authorize: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  return createConnectTransport({
    baseUrl: `http://127.0.0.1:${opsPort}`,
    httpVersion: "1.1",
    interceptors: [authorize],
  });
}

/** Creates a tenant, and clients with its owner's access token. */
export async function createOwner(system: Pick<SharedSystem, "admin" | "conversation" | "quota" | "sso">) {
  const tenant = await createTenant(system.admin);
  const claims = { iss: system.sso.issuer, aud: system.sso.audience, exp: Math.floor(Date.now() / 1_000) + 600 };
  const membership = { workspace_id: tenant.workspaceId, roles: ["parley-owner"] };
  const token = await system.sso.sign({ ...claims, ...membership, sub: "anna" });
  const transport = createOpsTransport(system.conversation, token);
  return {
    ...tenant,
    token,
    bots: createClient(BotAdminService, transport),
    keys: createClient(KeyAdminService, transport),
    knowledge: createClient(KnowledgeAdminService, transport),
    sessions: createClient(SessionAdminService, transport),
    auditLog: createClient(AuditLogAdminService, transport),
    quotaAuditLog: createClient(QuotaAuditLogAdminService, createOpsTransport(system.quota, token)),
  };
}
