import { Code } from "@connectrpc/connect";
import { EmailAdminService } from "@parley/rpc/conversation";
import { startSmtpReceiver } from "@parley/test-support";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { startTestQuota } from "../testing/quota.ts";
import { startTestService } from "../testing/service.ts";
import { adminFailure, countResultsOfConcurrentInserts, RFC_3339, useTestSystem } from "../testing/system.ts";
import { createBot } from "../testing/turns.ts";

const receiver = await startSmtpReceiver();
afterAll(() => receiver.close());
const system = useTestSystem({ SMTP_URL: `smtp://127.0.0.1:${receiver.port}?tls=off`, MAIL_FROM: "p@sender.example" });
const address = "ada@example.com";

async function createWorkspace() {
  const { workspaceId } = await createBot(system.database);
  return { workspaceId, emails: system.createAdminClient(EmailAdminService) };
}

test("a recipient can be added, tested and removed", async () => {
  const { workspaceId, emails } = await createWorkspace();
  const { recipient } = await emails.addRecipient({ workspaceId, address });
  expect(recipient).toMatchObject({ workspaceId, address, language: "en", createdAt: expect.stringMatching(RFC_3339) });
  const id = recipient?.id ?? "";
  const { eventId } = await emails.sendTestEmail({ workspaceId, id });
  const last = async () => (await emails.listRecipients({ workspaceId })).recipients[0]?.lastMessage;
  await expect
    .poll(last, { timeout: 30_000 })
    .toMatchObject({ eventId, type: "test", status: "sent", attempts: 1, error: "", nextAttemptAt: "" });
  expect((await last())?.lastAttemptAt).toMatch(RFC_3339);
  expect(receiver.received).toHaveLength(1);
  await emails.removeRecipient({ workspaceId, id });
  expect((await emails.listRecipients({ workspaceId })).recipients).toEqual([]);
  for (const call of [emails.removeRecipient, emails.sendTestEmail])
    expect(await adminFailure(call({ workspaceId, id }))).toMatchObject({
      code: Code.NotFound,
      parleyCode: "recipient_not_found",
    });
});

test("invalid addresses, languages, workspaces and duplicates are refused", async () => {
  const { workspaceId, emails } = await createWorkspace();
  await emails.addRecipient({ workspaceId, address });
  const codeOf = async (request: object) =>
    (await adminFailure(emails.addRecipient({ workspaceId, address: "max@example.com", ...request }))).parleyCode;
  expect(await codeOf({ address: "ada" })).toBe("invalid_argument");
  expect(await codeOf({ address: "ada@example.com\r\nBcc: max@example.com" })).toBe("invalid_argument");
  expect(await codeOf({ address: `${"a".repeat(250)}@example.com` })).toBe("invalid_argument");
  expect(await codeOf({ language: "xx" })).toBe("invalid_argument");
  expect(await codeOf({ workspaceId: "unknown" })).toBe("workspace_not_found");
  expect(await codeOf({ address: "Ada@EXAMPLE.com" })).toBe("recipient_exists");
});

test("a workspace has at most 10 recipients, also if they are added at the same time", async () => {
  const { workspaceId, emails } = await createWorkspace();
  const results = await countResultsOfConcurrentInserts(system.admin, "conversation.email_recipients", (n) =>
    emails.addRecipient({ workspaceId, address: `a${n}@example.com` }),
  );
  expect(results).toEqual({ ok: 10, too_many_recipients: 10 });
});

test("changes are in the audit log without the address", async () => {
  const { workspaceId, emails } = await createWorkspace();
  const { recipient } = await emails.addRecipient({ workspaceId, address });
  const { rows } = await system.admin.query(
    "SELECT method, target FROM conversation.audit_log WHERE workspace_id = $1",
    [workspaceId],
  );
  expect(rows).toEqual([{ method: "EmailAdminService/AddRecipient", target: { id: recipient?.id } }]);
});

test("without SMTP_URL, recipients are refused with the setting's name", async () => {
  const quota = await startTestQuota();
  onTestFinished(quota.close);
  const service = await startTestService(system.databaseUrl, quota.target);
  onTestFinished(service.stop);
  const { workspaceId } = await createWorkspace();
  const emails = service.createAdminClient(EmailAdminService);
  expect(await adminFailure(emails.addRecipient({ workspaceId, address }))).toMatchObject({
    code: Code.FailedPrecondition,
    parleyCode: "email_off",
    message: expect.stringContaining("SMTP_URL"),
  });
});
