import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { chat } from "../system/chat.ts";
import { cliEnv, runCliInProcess, runCliJson } from "../system/cli.ts";
import { createPlan } from "../system/database.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";

// A command takes seconds on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 });

type Body = { type: string; id: string; sequence: number; data: Record<string, unknown> };
type Endpoint = { id: string; url: string; secret: string; types: string[] };

let system: System;
let tenant: Tenant;
let env: Record<string, string>;
let server: Server;
let url: string;
let respond: (response: ServerResponse) => void;
const received: { text: string; headers: Record<string, string> }[] = [];

beforeAll(async () => {
  system = await startSystem({ env: { conversation: { EGRESS_ALLOW: "127.0.0.1/32" } } });
  env = cliEnv(system);
  tenant = await createTenant(system.admin);
  server = createServer(async (request, response) => {
    const text = (await request.toArray()).join("");
    received.push({ text, headers: request.headers as Record<string, string> });
    respond(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
});
afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
  await system?.stop();
});

const json = <T>(...args: string[]) => runCliJson<T>(["webhook", ...args, "--workspace", tenant.workspaceId], env);
const run = (...args: string[]) => runCliInProcess(["webhook", ...args, "--workspace", tenant.workspaceId], env);

test("an owner adds a webhook, understands why a test event fails, and sends it again", async () => {
  respond = (response) => response.writeHead(500).end("no such table: events");
  const created = await json<Endpoint>("add", "--url", url, "--types", "message.completed,message.rated");
  expect(created).toMatchObject({ url, types: ["message.completed", "message.rated"], secret: expect.any(String) });
  const { id, secret } = created;
  const listed = await run("list");
  expect(listed.stdout).toMatch(new RegExp(`^${id} .*message.completed, message.rated +ok +0$`, "m"));
  expect(listed.stdout).not.toContain(secret);

  const failed = await run("test", id);
  expect(failed.code).toBe(1);
  expect(failed.stdout).toMatch(/^response +status 500$/m);
  expect(failed.stdout).toMatch(/^body +no such table: events$/m);
  expect(failed.stdout).toContain(`parley webhook redeliver ${id} --workspace ${tenant.workspaceId} --sequence 1`);
  expect((await run("show", id)).stdout).toMatch(/^state +failing since /m);

  respond = (response) => response.writeHead(204).end();
  expect((await run("redeliver", id, "--sequence", "1")).stdout).toBe("Queued 1 event.\n");
  await expect
    .poll(async () => (await run("deliveries", id)).stdout, { timeout: 10_000, interval: 500 })
    .toMatch(/^ +1 +test +delivered +2 +\S+ +status 204$/m);
  expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  expect((await run("test", id)).code).toBe(0);

  received.length = 0;
  await chat(system.url(), tenant);
  await expect.poll(() => received.length, { timeout: 10_000 }).toBe(1);
  const [event] = received;
  const body = new Webhook(secret).verify(event?.text ?? "", event?.headers ?? {}) as Body;
  expect(body).toMatchObject({ type: "message.completed", sequence: 3, data: { bot_slug: tenant.botSlug } });
});

test("a webhook's settings and secret can be changed, and it can be disabled and deleted", async () => {
  const { id, secret } = await json<Endpoint>("add", "--url", url);
  expect(await json("update", id, "--types", "message.rated", "--include-content", "on")).toMatchObject({
    types: ["message.rated"],
    include_content: true,
  });
  expect(await json("update", id, "--types", "all", "--disable")).toMatchObject({
    types: [],
    disabled_reason: "owner",
  });
  const refused = await run("test", id);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("parley webhook update ID")]);
  expect(await json("update", id, "--enable")).toMatchObject({ disabled_reason: "" });
  const rotated = await json<Endpoint & { previous_secret_expires_at: string }>("rotate-secret", id);
  expect(rotated.secret).not.toBe(secret);
  expect(Date.parse(rotated.previous_secret_expires_at)).toBeGreaterThan(Date.now() + 23 * 3_600_000);
  expect((await run("update", id)).code).toBe(2);
  expect(await json("delete", id)).toEqual({ id, deleted: true });
  const missing = await run("show", id);
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("no such webhook endpoint")]);
});

test("a webhook reports once each threshold that a workspace's usage reaches, and that it was resolved", async () => {
  respond = (response) => response.writeHead(204).end();
  await createPlan(system.database, "two", 2);
  const small = await createTenant(system.admin, { plan: "two" });
  const { workspaceId } = small;
  const types = "usage.threshold,usage.resolved";
  const added = ["webhook", "add", "--url", url, "--types", types, "--workspace", workspaceId];
  const { secret } = await runCliJson<Endpoint>(added, env);
  received.length = 0;
  const events = () =>
    received
      .map(({ text, headers }) => new Webhook(secret).verify(text, headers) as Body)
      .map(({ type, data }) => `${type} ${data.threshold} ${data.generation} ${data.used}`)
      .sort();
  await chat(system.url(), small);
  await expect.poll(events, { timeout: 20_000 }).toEqual(["usage.threshold 50 1 1"]);
  await chat(system.url(), small);
  const all = ["usage.threshold 100 1 2", "usage.threshold 50 1 1", "usage.threshold 80 1 2", "usage.threshold 95 1 2"];
  await expect.poll(events, { timeout: 20_000 }).toEqual(all);
  await system.admin.workspaces.setPlan({ workspaceId, plan: "pro" });
  await expect
    .poll(() => events().filter((each) => each.startsWith("usage.resolved")).length, { timeout: 20_000 })
    .toBe(4);
});
