import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallAdmin } from "@parley/cli";
import { BotAdminService, KeyAdminService, KnowledgeAdminService } from "@parley/rpc/conversation";
import { WorkspaceAdminService } from "@parley/rpc/quota";
import { expect, it, onTestFinished } from "vitest";
import { ensureDemo } from "./demo.ts";

/** Returns a `callAdmin` whose services have these methods. */
function createCaller(methods: ReadonlyMap<unknown, object>): CallAdmin {
  return (async (service: unknown, call: (client: unknown) => unknown) => {
    const client = methods.get(service);
    if (client === undefined) throw new Error("no such service");
    return call(client);
  }) as unknown as CallAdmin;
}

it("ensureDemo returns undefined and creates nothing if the demo's workspace is deleted", async () => {
  const workspaces = [{ id: "demo", deletedAt: "2026-10-01T00:00:00Z" }];
  const callAdmin = createCaller(new Map([[WorkspaceAdminService, { listWorkspaces: async () => ({ workspaces }) }]]));
  expect(await ensureDemo(callAdmin, "/nowhere")).toBeUndefined();
});

/** Runs ensureDemo with an existing key for a domain. Returns the key that the demo uses. */
async function findDemoKey(domain: string): Promise<string | undefined> {
  const dataDir = await mkdtemp(join(tmpdir(), "parley-demo-"));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  const existing = { publicKey: "existing", botSlug: "demo", revokedAt: "", allowedDomains: ["shop.example", domain] };
  const callAdmin = createCaller(
    new Map<unknown, object>([
      [WorkspaceAdminService, { listWorkspaces: async () => ({ workspaces: [{ id: "demo", deletedAt: "" }] }) }],
      [BotAdminService, { getBot: async () => ({}) }],
      [KnowledgeAdminService, { listSources: async () => ({ sources: [] }), addSource: async () => ({}) }],
      [
        KeyAdminService,
        {
          listKeys: async () => ({ keys: [existing] }),
          createKey: async () => ({ key: { publicKey: "created" } }),
        },
      ],
    ]),
  );
  return (await ensureDemo(callAdmin, dataDir))?.publicKey;
}

it.each(["localhost", "http://localhost"])("uses an existing key that allows pages on %s", async (domain) => {
  expect(await findDemoKey(domain)).toBe("existing");
});

it.each(["localhost.example.com", "my-localhost.example", "*.localhost", "https://localhost", "localhost:3000"])(
  "creates a key if the existing one allows only %s, where the sample shop is not",
  async (domain) => {
    expect(await findDemoKey(domain)).toBe("created");
  },
);
