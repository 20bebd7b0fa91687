import { randomUUID } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { WebhookAdminService } from "@parley/rpc/conversation";
import { startWebhookReceiver } from "@parley/test-support";
import { expect, onTestFinished, test } from "vitest";
import { startTestQuota } from "../testing/quota.ts";
import { startTestService } from "../testing/service.ts";
import { adminFailure, countResultsOfConcurrentInserts, RFC_3339, useTestSystem } from "../testing/system.ts";
import { createBot } from "../testing/turns.ts";
import { ENCRYPTION_KEY } from "../testing/webhooks.ts";

const system = useTestSystem({ ENCRYPTION_KEY, EGRESS_ALLOW: "127.0.0.1/32" });
const url = "https://receiver.example/events";

async function createWorkspace() {
  const { workspaceId } = await createBot(system.database);
  system.quota.workspaces.add(workspaceId);
  return { workspaceId, webhooks: system.createAdminClient(WebhookAdminService) };
}

test("an endpoint's secret is returned once, and stored encrypted", async () => {
  const { workspaceId, webhooks } = await createWorkspace();
  const { endpoint, secret } = await webhooks.createEndpoint({ workspaceId, changes: { url } });
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(endpoint).toMatchObject({
    ...{ workspaceId, url, types: [], includeContent: false, disabledReason: "", failingSince: "", pending: 0 },
    createdAt: expect.stringMatching(RFC_3339),
  });
  expect((await webhooks.listEndpoints({ workspaceId })).endpoints).toEqual([endpoint]);
  const { rows } = await system.admin.query(
    "SELECT secret FROM conversation.webhook_endpoints WHERE workspace_id = $1",
    [workspaceId],
  );
  expect(rows[0].secret).not.toContain(secret.slice(6));
});

test("an endpoint can be changed, disabled and enabled", async () => {
  const { workspaceId, webhooks } = await createWorkspace();
  const { endpoint } = await webhooks.createEndpoint({ workspaceId, changes: { url, includeContent: true } });
  const change = async (changes: object) =>
    (await webhooks.updateEndpoint({ workspaceId, id: endpoint?.id ?? "", changes })).endpoint;
  expect(await change({ types: { values: ["message.rated"] } })).toMatchObject({ types: ["message.rated"], url });
  expect(await change({ types: { values: [] }, url: `${url}/2` })).toMatchObject({ types: [], url: `${url}/2` });
  expect(await change({ enabled: false, includeContent: false })).toMatchObject({
    disabledReason: "owner",
    includeContent: false,
  });
  const id = endpoint?.id ?? "";
  expect(await adminFailure(webhooks.sendTestEvent({ workspaceId, id }))).toMatchObject({
    parleyCode: "webhook_disabled",
  });
  expect(await change({ enabled: true })).toMatchObject({ disabledReason: "", types: [] });
});

test.each([
  "ftp://receiver.example/",
  "receiver.example",
  "https://user:pw@receiver.example/",
  "http://10.0.0.1/",
  "http://[::1]/",
  "http://169.254.169.254/latest",
])("the URL %s is refused", async (refused) => {
  const { workspaceId, webhooks } = await createWorkspace();
  const create = webhooks.createEndpoint({ workspaceId, changes: { url: refused } });
  expect(await adminFailure(create)).toMatchObject({ code: Code.InvalidArgument, parleyCode: "invalid_argument" });
});

test("unknown types and workspaces are refused", async () => {
  const { workspaceId, webhooks } = await createWorkspace();
  const types = { values: ["message.unknown"] };
  expect(await adminFailure(webhooks.createEndpoint({ workspaceId, changes: { url, types } }))).toMatchObject({
    parleyCode: "invalid_argument",
  });
  const unknown = { workspaceId: `unknown-${randomUUID()}`, changes: { url } };
  expect(await adminFailure(webhooks.createEndpoint(unknown))).toMatchObject({ parleyCode: "workspace_not_found" });
});

test("another workspace's endpoint, an unknown one and a deleted one are not found", async () => {
  const { workspaceId, webhooks } = await createWorkspace();
  const { workspaceId: other } = await createWorkspace();
  const { endpoint } = await webhooks.createEndpoint({ workspaceId, changes: { url } });
  const id = endpoint?.id ?? "";
  const isNotFound = async (target: { workspaceId: string; id: string }) => {
    for (const call of [
      () => webhooks.updateEndpoint({ ...target, changes: { enabled: false } }),
      () => webhooks.rotateSecret(target),
      () => webhooks.listDeliveries(target),
      () => webhooks.redeliver({ ...target, fromSequence: 1n, toSequence: 1n }),
      () => webhooks.sendTestEvent(target),
      () => webhooks.deleteEndpoint(target),
    ])
      expect(await adminFailure(call())).toMatchObject({ code: Code.NotFound, parleyCode: "webhook_not_found" });
  };
  for (const target of [
    { workspaceId: other, id },
    { workspaceId, id: randomUUID() },
    { workspaceId, id: "x" },
  ])
    await isNotFound(target);
  await webhooks.deleteEndpoint({ workspaceId, id });
  await isNotFound({ workspaceId, id });
});

test("a test event is delivered, listed and redelivered with the same id", async () => {
  const { workspaceId, webhooks } = await createWorkspace();
  const receiver = await startWebhookReceiver();
  onTestFinished(() => receiver.close());
  const created = await webhooks.createEndpoint({ workspaceId, changes: { url: receiver.url } });
  receiver.secrets.push(created.secret);
  const id = created.endpoint?.id ?? "";
  expect(await webhooks.sendTestEvent({ workspaceId, id })).toMatchObject({ sequence: 1n });
  await expect.poll(() => receiver.received.length, { timeout: 10_000 }).toBe(1);
  const list = () => webhooks.listDeliveries({ workspaceId, id });
  await expect.poll(list).toMatchObject({
    deliveries: [
      {
        ...{ sequence: 1n, type: "test", status: "delivered", responseStatus: 204, nextAttemptAt: "" },
        attemptedAt: [expect.stringMatching(RFC_3339)],
      },
    ],
    nextPageToken: "",
  });
  expect(await webhooks.redeliver({ workspaceId, id, fromSequence: 1n, toSequence: 1n })).toMatchObject({ queued: 1 });
  await expect.poll(() => receiver.received.length, { timeout: 10_000 }).toBe(2);
  expect(new Set(receiver.received.map((each) => each.id)).size).toBe(1);
  const range = (fromSequence: bigint, toSequence: bigint) =>
    webhooks.redeliver({ workspaceId, id, fromSequence, toSequence });
  expect(await adminFailure(range(2n, 3n))).toMatchObject({ parleyCode: "delivery_not_found" });
  for (const [from, to] of [
    [0n, 1n],
    [2n, 1n],
    [1n, 1_001n],
  ] as const)
    expect(await adminFailure(range(from, to))).toMatchObject({ parleyCode: "invalid_argument" });
  const page = await webhooks.listDeliveries({ workspaceId, id, status: "failed" });
  expect(page.deliveries).toEqual([]);
});

test("deliveries are listed in pages, latest sequence first", async () => {
  const { workspaceId, webhooks } = await createWorkspace();
  const { endpoint } = await webhooks.createEndpoint({ workspaceId, changes: { url } });
  const id = endpoint?.id ?? "";
  for (let count = 0; count < 3; count++) await webhooks.sendTestEvent({ workspaceId, id });
  const first = await webhooks.listDeliveries({ workspaceId, id, pageSize: 2 });
  expect(first.deliveries.map(({ sequence }) => sequence)).toEqual([3n, 2n]);
  const second = await webhooks.listDeliveries({ workspaceId, id, pageSize: 2, pageToken: first.nextPageToken });
  expect(second).toMatchObject({ deliveries: [{ sequence: 1n }], nextPageToken: "" });
});

test("a workspace has at most 20 endpoints, also if they are added at the same time", async () => {
  const { workspaceId, webhooks } = await createWorkspace();
  const create = () => webhooks.createEndpoint({ workspaceId, changes: { url } });
  for (let count = 0; count < 18; count++) await create();
  const results = await countResultsOfConcurrentInserts(system.admin, "conversation.webhook_endpoints", create);
  expect(results).toEqual({ ok: 2, too_many_webhooks: 18 });
});

test("without ENCRYPTION_KEY, webhooks are refused with the setting's name", async () => {
  const { workspaceId } = await createWorkspace();
  const quota = await startTestQuota();
  onTestFinished(() => quota.close());
  const service = await startTestService(system.databaseUrl, quota.target);
  onTestFinished(() => service.stop());
  const webhooks = service.createAdminClient(WebhookAdminService);
  expect(await adminFailure(webhooks.createEndpoint({ workspaceId, changes: { url } }))).toMatchObject({
    code: Code.FailedPrecondition,
    parleyCode: "webhooks_off",
    message: expect.stringContaining("ENCRYPTION_KEY"),
  });
});
