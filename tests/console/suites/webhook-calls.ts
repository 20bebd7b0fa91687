import { AuditLogAdminService, WebhookAdminService } from "@parley/rpc/conversation";
import { startWebhookReceiver } from "@parley/test-support";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Body, type CallOverHttp, createCaller } from "../call-over-http.ts";
import type { ConsoleSystem } from "../console-system.ts";

type Delivery = { sequence: string; status: string; responseStatus?: number; responseBody?: string };

/** Tests the calls over HTTP that docs/webhooks.md describes: JSON with a member's access token. */
export function webhookCallsSuite(shared: () => ConsoleSystem): void {
  describe("a script with a member's access token", () => {
    let owner: CallOverHttp;
    let viewer: CallOverHttp;
    let auditLog: CallOverHttp;

    beforeAll(async () => {
      [owner, viewer, auditLog] = await Promise.all([
        createCaller(shared(), "owner", WebhookAdminService),
        createCaller(shared(), "viewer", WebhookAdminService),
        createCaller(shared(), "owner", AuditLogAdminService),
      ]);
    });

    /** Adds a webhook. Returns the fields that name it. */
    async function addWebhook(url: string): Promise<{ id: string; secret: string }> {
      const { status, body } = await owner("CreateEndpoint", {
        changes: { url, types: { values: ["message.rated"] } },
      });
      expect(status).toBe(200);
      const { id } = body.endpoint as { id: string };
      return { id, secret: body.secret as string };
    }

    test("adds a webhook, tests it, finds out why it failed, and sends the event again", async () => {
      const receiver = await startWebhookReceiver();
      onTestFinished(() => receiver.close());
      const { id, secret } = await addWebhook(receiver.url);
      receiver.secrets.push(secret);
      receiver.respond = (response) => response.writeHead(500).end("no such table: events");
      expect((await owner("SendTestEvent", { id })).body).toEqual({ sequence: "1" });
      const list = async () => ((await viewer("ListDeliveries", { id })).body.deliveries as Delivery[])[0];
      await expect.poll(list, { timeout: 10_000 }).toMatchObject({
        sequence: "1",
        status: "pending",
        responseStatus: 500,
        responseBody: "no such table: events",
      });
      receiver.respond = (response) => response.writeHead(204).end();
      const range = { id, fromSequence: "1", toSequence: "9" };
      expect((await owner("Redeliver", range)).body).toEqual({ queued: 1 });
      await expect.poll(list, { timeout: 10_000 }).toMatchObject({ status: "delivered", responseStatus: 204 });
      expect(receiver.refused).toEqual([]);
      expect(await owner("Redeliver", { ...range, fromSequence: "5" })).toMatchObject({
        status: 404,
        code: "delivery_not_found",
      });
    });

    test("changes, rotates and deletes a webhook, each with an entry of the audit log", async () => {
      const { id, secret } = await addWebhook("https://receiver.example/hook");
      const changes = { types: { values: [] }, includeContent: true, enabled: false };
      expect((await owner("UpdateEndpoint", { id, changes })).body).toMatchObject({
        endpoint: { id, includeContent: true, disabledReason: "owner" },
      });
      expect((await owner("SendTestEvent", { id })).code).toBe("webhook_disabled");
      const rotated = await owner("RotateSecret", { id, keepPreviousHours: 1 });
      expect(rotated.body.secret).not.toBe(secret);
      expect((await owner("DeleteEndpoint", { id })).body).toEqual({});
      expect((await owner("UpdateEndpoint", { id, changes })).code).toBe("webhook_not_found");

      const entries = (await auditLog("ListAuditLogEntries")).body.entries as { method: string; target: Body }[];
      const ofWebhook = entries.filter(({ target }) => target.id === id).map(({ method }) => method);
      expect(ofWebhook).toEqual(
        ["DeleteEndpoint", "RotateSecret", "UpdateEndpoint", "CreateEndpoint"].map(
          (method) => `WebhookAdminService/${method}`,
        ),
      );
      expect(entries.every(({ target }) => !JSON.stringify(target).includes("whsec_"))).toBe(true);
    });

    test("a viewer reads webhooks without their secrets, and changes nothing", async () => {
      const { id, secret } = await addWebhook("https://receiver.example/hook");
      const before = (await viewer("ListEndpoints")).body;
      expect(before.endpoints).toContainEqual(expect.objectContaining({ id }));
      expect(JSON.stringify(before)).not.toContain(secret);
      for (const [method, body] of [
        ["CreateEndpoint", { changes: { url: "https://receiver.example/hook" } }],
        ["UpdateEndpoint", { id, changes: { enabled: false } }],
        ["RotateSecret", { id }],
        ["SendTestEvent", { id }],
        ["Redeliver", { id, fromSequence: "1", toSequence: "1" }],
        ["DeleteEndpoint", { id }],
      ] as const)
        expect(await viewer(method, body), method).toMatchObject({ status: 403, code: "forbidden" });
      expect((await owner("ListEndpoints")).body).toEqual(before);
    });
  });
}
