import { randomUUID } from "node:crypto";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { mayCall, requiredRole } from "@parley/rpc/access";
import { BotAdminService, KeyAdminService, ToolAdminService } from "@parley/rpc/conversation";
import { WorkspaceAdminService } from "@parley/rpc/quota";
import { adminAccessOf } from "@parley/service-kit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ADMIN_TOKEN, createService } from "../system/processes.ts";
import { joinSharedSystem, type ServicePorts, type SharedSystem } from "../system/shared-system.ts";
import { createTenant, serviceDatabaseUrl, type Tenant } from "../system/system.ts";
import { isAdminMethod, METHODS, nameOf, portsOf } from "./methods.ts";
import { connectAdminPlane, type Fields } from "./raw-calls.ts";
import { ORDER_TOOL, RPC_CASES } from "./rpc-cases.ts";
import {
  createTenantData,
  readWorkspaceRows,
  type TenantDataWithKey,
  waitUntilRepliesRecorded,
} from "./tenant-data.ts";

type Access = "operator" | "viewer" | "owner";

/** Returns the least privileged caller of an admin method. An owner may also call a viewer's methods, and the operator every method. */
const accessOf = (method: DescMethod): Access => requiredRole(method) ?? "operator";

/**
 * Returns a method's sort key. Methods that remove data come last, so that the calls of every caller find the data. DeleteBot and DeleteWorkspace
 * come at the very end, because they hide other data.
 */
const orderOf = ({ name }: { name: string }) => {
  const last = ["DeleteBot", "DeleteWorkspace"].indexOf(name);
  return last >= 0 ? 2 + last : Number(/^(Remove|Erase|Delete|Revoke)/.test(name));
};
const ADMIN_METHODS = METHODS.filter(isAdminMethod);

let system: SharedSystem;
let tenant: TenantDataWithKey;
let other: TenantDataWithKey;
beforeAll(async () => {
  const planModels = { pro: ["openai:default", "ollama:*"], free: [] };
  const shared = await joinSharedSystem();
  await shared.startEdge();
  const conversation = await shared.startReplica("conversation", {
    PLAN_MODELS: JSON.stringify(planModels),
    OWNER_TOOL_PLANS: "pro",
  });
  system = { ...shared, conversation };
  [tenant, other] = [await createTenantData(system), await createTenantData(system)];
  await waitUntilRepliesRecorded(system.database, [tenant, other]);
});
afterAll(() => system?.stop());

/** Returns a request that names the tenant's workspace and its existing data, and that succeeds if it is permitted. */
function requestFor(name: string, { workspaceId, publicKey, ...ids }: TenantDataWithKey): Fields {
  const method = name.split("/")[1];
  switch (method) {
    case "CreateWorkspace":
      return { name: "New", plan: "free" };
    case "SetKnowledgeLimits":
    case "SetOverage":
      return { plan: "pro" };
    case "CheckProvider":
      return { model: "openai:default" };
    case "CreateBot":
      return { workspaceId, slug: `bot-${randomUUID()}` };
    case "DuplicateBot":
      return { workspaceId, slug: ids.botSlug, newSlug: `bot-${randomUUID()}` };
    case "UpdateKey":
      return { publicKey, workspaceId, domains: ["b.example"] };
    case "RevokeKey":
      return { publicKey, workspaceId };
    case "Repair":
      return { workspaceId, since: "2026-01-01T00:00:00Z" };
  }
  const rpcCase = RPC_CASES[name];
  if (rpcCase === undefined) throw new Error(`no case for ${name}`);
  if ("requests" in rpcCase) return rpcCase.requests({ workspaceId, ...ids }, ids)[0] ?? {};
  return "workspace" in rpcCase ? rpcCase.workspace(workspaceId) : {};
}

/**
 * Calls a method. Returns the HTTP status and the error's stable code, such as "403 forbidden", or "200 ok". For a stream, returns the status
 * that a unary call would have had.
 */
async function outcomeOf(method: (typeof ADMIN_METHODS)[number], authorization: string, fields: Fields) {
  const call = connectAdminPlane(portsOf(system, method.parent).opsPort, authorization);
  const response = await call(method, fields, []);
  const [status] = JSON.parse(response) as [number];
  const code = /parley-code\W+([a-z_]+)/.exec(response)?.[1] ?? (response.includes("error") ? "error" : "ok");
  if (method.methodKind === "unary") return `${status} ${code}`;
  // A stream's error comes after status 200.
  return `${{ ok: 200, forbidden: 403, workspace_not_found: 404 }[code] ?? 401} ${code}`;
}

type Owner = Awaited<ReturnType<typeof connectOwner>>;

/** Creates clients that send the access token of a workspace's owner. */
async function connectOwner({ workspaceId }: Tenant) {
  const authorization = `Bearer ${await system.sso.token({ workspaceId, role: "owner" })}`;
  const authorize: Interceptor = (next) => (request) => {
    request.header.set("authorization", authorization);
    return next(request);
  };
  const transport = ({ opsPort }: ServicePorts) =>
    createConnectTransport({
      baseUrl: `http://127.0.0.1:${opsPort}`,
      httpVersion: "1.1",
      interceptors: [authorize],
    });
  return {
    workspaceId,
    callConversation: connectAdminPlane(system.conversation.opsPort, authorization),
    bots: createClient(BotAdminService, transport(system.conversation)),
    keys: createClient(KeyAdminService, transport(system.conversation)),
    tools: createClient(ToolAdminService, transport(system.conversation)),
    usage: createClient(WorkspaceAdminService, transport(system.quota)),
  };
}

test("every admin method that changes something needs an owner or the operator", () => {
  const changing = ADMIN_METHODS.filter((method) => adminAccessOf(method).changes);
  expect(changing.filter((method) => accessOf(method) === "viewer").map(nameOf)).toEqual([]);
});

test("every admin method answers every kind of caller as declared, and a refused call changes nothing", async () => {
  const now = Math.floor(Date.now() / 1_000);
  const { issuer, audience, sign, token } = system.sso;
  const { workspaceId } = tenant;
  const claims = {
    iss: issuer,
    aud: audience,
    sub: "owner",
    exp: now + 600,
    workspace_id: workspaceId,
    roles: ["parley-owner"],
  };
  const otherOwner = await token({ workspaceId: other.workspaceId, role: "owner" });
  type Caller = {
    authorization: string;
    expected: (access: Access, method: DescMethod) => string;
    target?: TenantDataWithKey;
  };
  const unauthenticated = () => "401 authentication_required";
  const callers: Record<string, Caller> = {
    "no token": { authorization: "", expected: unauthenticated },
    "wrong token": { authorization: `Bearer ${ADMIN_TOKEN}x`, expected: unauthenticated },
    "expired token": { authorization: `Bearer ${await sign({ ...claims, exp: now - 60 })}`, expected: unauthenticated },
    "other audience": { authorization: `Bearer ${await sign({ ...claims, aud: "other" })}`, expected: unauthenticated },
    "no workspace": {
      authorization: `Bearer ${await sign({ ...claims, workspace_id: undefined })}`,
      expected: () => "401 no_workspace",
    },
    "no role": { authorization: `Bearer ${await token({ workspaceId })}`, expected: () => "403 forbidden" },
    "other workspace's owner": {
      authorization: `Bearer ${otherOwner}`,
      expected: (access) => (access === "operator" ? "403 forbidden" : "404 workspace_not_found"),
    },
    agent: {
      authorization: `Bearer ${await token({ workspaceId, role: "agent" })}`,
      expected: (_, method) => (mayCall("agent", method) ? "200 ok" : "403 forbidden"),
    },
    viewer: {
      authorization: `Bearer ${await token({ workspaceId, role: "viewer" })}`,
      expected: (access) => (access === "viewer" ? "200 ok" : "403 forbidden"),
    },
    owner: {
      authorization: `Bearer ${await token({ workspaceId, role: "owner" })}`,
      expected: (access) => (access === "operator" ? "403 forbidden" : "200 ok"),
    },
    operator: { authorization: `Bearer ${ADMIN_TOKEN}`, expected: () => "200 ok", target: other },
  };
  const calls = Object.entries(callers).flatMap(([caller, { authorization, expected, target = tenant }]) =>
    ADMIN_METHODS.map((method) => {
      const name = nameOf(method);
      return { caller, method, name, authorization, target, wanted: expected(accessOf(method), method) };
    }),
  );
  const isPermitted = ({ wanted }: (typeof calls)[number]) => wanted === "200 ok";
  const unexpected: string[] = [];
  const tryAll = async (group: typeof calls) => {
    for (const { caller, method, name, authorization, target, wanted } of group) {
      const outcome = await outcomeOf(method, authorization, requestFor(name, target));
      if (outcome !== wanted) unexpected.push(`${caller}: ${name} returned ${outcome}, not ${wanted}`);
    }
  };
  const before = await readWorkspaceRows(system.database, workspaceId);
  await tryAll(calls.filter((each) => !isPermitted(each)));
  expect(await readWorkspaceRows(system.database, workspaceId)).toBe(before);
  await tryAll(calls.filter(isPermitted).sort((a, b) => orderOf(a.method) - orderOf(b.method)));
  console.info(`${calls.length} calls, ${unexpected.length} unexpected`);
  expect(unexpected).toEqual([]);
});

describe("an owner", () => {
  let owner: Owner;
  beforeAll(async () => {
    owner = await connectOwner(await createTenant(system.admin));
  });

  test("need not name the workspace", async () => {
    const { workspaceId, bots, keys, usage } = owner;
    const slug = `bot-${randomUUID()}`;
    expect((await bots.createBot({ slug })).bot).toMatchObject({ workspaceId, slug });
    expect((await bots.listBots({})).bots.map((bot) => bot.slug)).toContain(slug);
    const { key } = await keys.createKey({ botSlug: slug, domains: ["a.example"] });
    const revoked = await keys.revokeKey({ publicKey: key?.publicKey ?? "" });
    expect(revoked.key?.revokedAt).toMatch(/^\d{4}-/);
    expect((await usage.showUsage({})).usage?.plan).toBe("pro");
  });

  test("may choose only a model of the plan's list", async () => {
    const { workspaceId, bots } = owner;
    const slug = `bot-${randomUUID()}`;
    const refusal = { code: Code.PermissionDenied, rawMessage: "the workspace's plan does not include this model" };
    expect((await bots.listModels({})).models).toEqual(["openai:default", "ollama:*"]);
    await expect(bots.createBot({ slug, changes: { model: "openai:large" } })).rejects.toMatchObject(refusal);
    await bots.createBot({ slug, changes: { model: "openai:default" } });
    await expect(bots.updateBot({ slug, changes: { model: "openai:large" } })).rejects.toMatchObject(refusal);
    expect((await bots.updateBot({ slug, changes: { model: "ollama:any" } })).bot?.model).toBe("ollama:any");
    expect((await bots.updateBot({ slug, changes: { model: "" } })).bot?.model).toBe("");
    await system.admin.bots.updateBot({ workspaceId, slug, changes: { model: "openai:large" } });
    // The plan `free` includes no model. The bot keeps the model that the operator chose.
    await system.admin.workspaces.setPlan({ workspaceId, plan: "free" });
    await expect(bots.updateBot({ slug, changes: { model: "openai:default" } })).rejects.toMatchObject(refusal);
    expect((await bots.updateBot({ slug, changes: { name: "Renamed" } })).bot?.model).toBe("openai:large");
    const copy = `bot-${randomUUID()}`;
    expect((await bots.duplicateBot({ slug, newSlug: copy })).bot?.model).toBe("openai:large");
    const changed = bots.duplicateBot({ slug, newSlug: `${copy}-2`, changes: { model: "openai:default" } });
    await expect(changed).rejects.toMatchObject(refusal);
  });

  test("may add HTTP tools without secrets if the plan permits it, and cannot replace the operator's tools", async () => {
    const ownTenant = await createTenant(system.admin);
    const { workspaceId, botSlug } = ownTenant;
    const { tools } = await connectOwner(ownTenant);
    const kind = (overrides = {}) => ({ case: "http" as const, value: { ...ORDER_TOOL, ...overrides } });
    const put = (tool: NonNullable<Parameters<typeof tools.putTool>[0]["tool"]>) => tools.putTool({ botSlug, tool });
    await system.admin.tools.putTool({ workspaceId, botSlug, tool: { name: "operators", kind: kind() } });
    expect((await put({ name: "order", kind: kind() })).tool).toMatchObject({ name: "order", byOwner: true });
    await put({ name: "order", byOwner: false, kind: kind({ description: "Other." }) });
    expect(await tools.listTools({ botSlug })).toMatchObject({
      ownersMayAdd: true,
      tools: [
        { name: "operators", byOwner: false },
        { name: "order", byOwner: true, kind: kind({ description: "Other." }) },
      ],
    });
    const refused = [
      { name: "a", secret: "orders", kind: kind() },
      { name: "a", kind: { case: "mcp" as const, value: { url: "https://mcp.example/mcp" } } },
      { name: "a", kind: kind({ url: "http://shop.example/orders" }) },
    ];
    for (const tool of refused) await expect(put(tool)).rejects.toMatchObject({ code: Code.InvalidArgument });
    await expect(put({ name: "operators", kind: kind() })).rejects.toMatchObject({
      code: Code.PermissionDenied,
      rawMessage: "the operator has added a tool with this name",
    });
    // The operator may take over the owner's tool.
    await system.admin.tools.putTool({ workspaceId, botSlug, tool: { name: "order", byOwner: true, kind: kind() } });
    expect((await tools.listTools({ botSlug })).tools).toMatchObject([{ byOwner: false }, { byOwner: false }]);
    await system.admin.workspaces.setPlan({ workspaceId, plan: "free" });
    expect((await tools.listTools({ botSlug })).ownersMayAdd).toBe(false);
    await expect(put({ name: "more", kind: kind() })).rejects.toMatchObject({
      code: Code.PermissionDenied,
      rawMessage: "the workspace's plan does not permit owners to add tools",
    });
  });

  test("gets the same response for another workspace as for one that does not exist", async () => {
    const answers = await Promise.all(
      [other.workspaceId, `ws_${randomUUID()}`, "a b", `${owner.workspaceId} `, `${owner.workspaceId}\0`].map((id) =>
        owner.callConversation(BotAdminService.method.listBots, { workspaceId: id }, []),
      ),
    );
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain("workspace_not_found");
  });

  test("cannot revoke or change the key of another workspace, and gets the same response as for an unknown key", async () => {
    const victim = await createTenant(system.admin);
    const { keys: before } = await system.admin.keys.listKeys({ workspaceId: victim.workspaceId });
    const unknown = `${victim.publicKey.slice(0, -6)}AAAAAA`;
    for (const [method, fields] of [
      [KeyAdminService.method.revokeKey, {}],
      [KeyAdminService.method.updateKey, { domains: ["mine.example"] }],
    ] as const) {
      const answers = await Promise.all(
        [victim.publicKey, unknown].map((publicKey) => owner.callConversation(method, { publicKey, ...fields }, [])),
      );
      expect(answers[0]).toContain("key_not_found");
      expect(answers[0]).toBe(answers[1]);
    }
    expect((await system.admin.keys.listKeys({ workspaceId: victim.workspaceId })).keys).toEqual(before);
  });
});

test("without settings of the identity provider, only ADMIN_TOKEN gives access", async () => {
  const replica = await createService("quota", { DATABASE_URL: serviceDatabaseUrl(system.database.url, "quota") });
  await replica.start();
  try {
    const showUsage = (authorization: string) =>
      connectAdminPlane(replica.opsPort, authorization)(
        WorkspaceAdminService.method.showUsage,
        { workspaceId: tenant.workspaceId },
        [],
      );
    const token = await system.sso.token({ workspaceId: tenant.workspaceId, role: "owner" });
    expect(await showUsage(`Bearer ${token}`)).toContain("authentication_required");
    expect(await showUsage(`Bearer ${ADMIN_TOKEN}`)).toContain("plan");
  } finally {
    await replica.stop();
  }
});
