import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallAdmin } from "@parley/cli";
import { BotAdminService, KeyAdminService, KnowledgeAdminService } from "@parley/rpc/conversation";
import { WorkspaceAdminService } from "@parley/rpc/quota";
import { expect, it, onTestFinished } from "vitest";
import { describeDemo, ensureDemo } from "./demo.ts";

/** Returns a `callAdmin` that calls fake clients. `clients` maps each service to its client. */
function createCaller(clients: ReadonlyMap<unknown, object>): CallAdmin {
  return (async (service: unknown, call: (client: unknown) => unknown) => {
    const client = clients.get(service);
    if (client === undefined) throw new Error("no such service");
    return call(client);
  }) as unknown as CallAdmin;
}

it("ensureDemo returns undefined and creates nothing if the demo's workspace is deleted", async () => {
  const workspaces = [{ id: "demo", deletedAt: "2026-10-01T00:00:00Z" }];
  const callAdmin = createCaller(new Map([[WorkspaceAdminService, { listWorkspaces: async () => ({ workspaces }) }]]));
  expect(await ensureDemo(callAdmin, "/nowhere")).toBeUndefined();
});

/** Runs ensureDemo for a demo bot with one key, which allows `domain`. Returns the key that ensureDemo selects or creates. */
async function findDemoKey(domain: string): Promise<string | undefined> {
  const dataDir = await mkdtemp(join(tmpdir(), "parley-demo-"));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  const existing = {
    publicKey: "existing",
    botSlug: "demo",
    revokedAt: "",
    allowedDomains: ["customer.example", domain],
  };
  const callAdmin = createCaller(
    new Map<unknown, object>([
      [WorkspaceAdminService, { listWorkspaces: async () => ({ workspaces: [{ id: "demo", deletedAt: "" }] }) }],
      [BotAdminService, { getBot: async () => ({}) }],
      [
        KnowledgeAdminService,
        { listSources: async () => ({ sources: [], nextPageToken: "" }), addSource: async () => ({}) },
      ],
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
  "creates a key if the existing one allows %s but not the sample shop's origin",
  async (domain) => {
    expect(await findDemoKey(domain)).toBe("created");
  },
);

/**
 * Creates a data directory and fake services, which store the names of the documents in `names`. `sync` runs ensureDemo and returns
 * describeDemo's text.
 */
async function prepareDemo() {
  const dataDir = await mkdtemp(join(tmpdir(), "parley-demo-"));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  const digestsPath = join(dataDir, "demo-documents.json");
  const names = new Set<string>();
  const key = { publicKey: "k", botSlug: "demo", revokedAt: "", allowedDomains: ["localhost"] };
  const callAdmin = createCaller(
    new Map<unknown, object>([
      [WorkspaceAdminService, { listWorkspaces: async () => ({ workspaces: [{ id: "demo", deletedAt: "" }] }) }],
      [BotAdminService, { getBot: async () => ({}) }],
      [KeyAdminService, { listKeys: async () => ({ keys: [key] }) }],
      [
        KnowledgeAdminService,
        {
          listSources: async () => ({ sources: Array.from(names, (name) => ({ name })), nextPageToken: "" }),
          addSource: async ({ name }: { name: string }) => names.add(name),
          removeSource: async ({ name }: { name: string }) => names.delete(name),
        },
      ],
    ]),
  );
  return {
    names,
    sync: async () => describeDemo(await ensureDemo(callAdmin, dataDir)),
    readDigests: async () => JSON.parse(await readFile(digestsPath, "utf8")) as Record<string, string>,
    writeDigests: (digests: object) => writeFile(digestsPath, JSON.stringify(digests)),
    damageDigests: (text: string) => writeFile(digestsPath, text),
  };
}

it("describes how many documents ensureDemo added, updated and removed", async () => {
  const { names, sync, readDigests, writeDigests } = await prepareDemo();
  const added = await sync();
  expect(added).toBe(`${names.size} documents added`);
  expect(await sync()).toBe("unchanged");
  const digests = await readDigests();
  const [first = "", second = ""] = Object.keys(digests);
  names.add("obsolete");
  await writeDigests({ ...digests, obsolete: "digest" });
  expect(await sync()).toBe("1 document removed");
  await writeDigests({ ...digests, [first]: "old" });
  expect(await sync()).toBe("1 document updated");
  names.add("obsolete").delete(second);
  await writeDigests({ ...digests, [first]: "old", obsolete: "digest" });
  expect(await sync()).toBe("1 document added, 1 document updated, 1 document removed");
});

it.each(["null", "[]", "5", "{"])(
  "sends every document again if the file of the digests contains %s",
  async (damaged) => {
    const { names, sync, damageDigests } = await prepareDemo();
    await sync();
    await damageDigests(damaged);
    expect(await sync()).toBe(`${names.size} documents updated`);
  },
);
