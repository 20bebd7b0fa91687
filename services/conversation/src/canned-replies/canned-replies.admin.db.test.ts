import { randomUUID } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { AuditLogAdminService, CannedReplyAdminService } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { adminFailure, countResultsOfConcurrentInserts, useTestSystem } from "../testing/system.ts";

const system = useTestSystem();
const HOURS = { name: "Hours", text: "We open at **seven**." };

/** Returns a workspace that the fake quota service knows. */
function newWorkspace() {
  const workspaceId = `ws-${randomUUID()}`;
  system.quota.workspaces.add(workspaceId);
  return { workspaceId };
}

test("are validated, listed by name, changed and removed only in their own workspace, and recorded without their text", async () => {
  const service = system.createAdminClient(CannedReplyAdminService);
  const [own, other] = [newWorkspace(), newWorkspace()];
  const { reply } = await service.addCannedReply({ ...own, ...HOURS });
  await service.addCannedReply({ ...own, name: " address ", text: "Main Street 1" });
  const list = async (workspace = own) => (await service.listCannedReplies(workspace)).replies;
  expect(await list()).toMatchObject([{ name: "address", text: "Main Street 1" }, HOURS]);
  expect(await list(other)).toEqual([]);
  const id = reply?.id ?? 0n;
  for (const bad of [
    { name: " " },
    { name: "x".repeat(61) },
    { text: " " },
    { text: "x".repeat(4_001) },
    { text: "a\0" },
  ]) {
    const expected = { code: Code.InvalidArgument };
    expect(await adminFailure(service.addCannedReply({ ...own, ...HOURS, ...bad }))).toMatchObject(expected);
    expect(await adminFailure(service.updateCannedReply({ ...own, id, ...HOURS, ...bad }))).toMatchObject(expected);
  }
  const notFound = { parleyCode: "canned_reply_not_found" };
  const unknown = { workspaceId: "unknown", ...HOURS };
  expect(await adminFailure(service.addCannedReply(unknown))).toMatchObject({ parleyCode: "workspace_not_found" });
  expect(await adminFailure(service.updateCannedReply({ ...other, id, ...HOURS }))).toMatchObject(notFound);
  await service.removeCannedReply({ ...other, id });
  expect(await list()).toHaveLength(2);
  await service.updateCannedReply({ ...own, id, name: "Opening", text: "At eight." });
  expect(await list()).toMatchObject([{}, { name: "Opening", text: "At eight." }]);
  await service.removeCannedReply({ ...own, id });
  await service.removeCannedReply({ ...own, id });
  expect(await list()).toMatchObject([{ name: "address" }]);
  const { entries } = await system.createAdminClient(AuditLogAdminService).listAuditLogEntries(own);
  expect(new Set(entries.map(({ method }) => method))).toEqual(
    new Set(["Add", "Update", "Remove"].map((verb) => `CannedReplyAdminService/${verb}CannedReply`)),
  );
  expect(JSON.stringify(entries.map(({ target }) => target))).not.toMatch(/seven|eight|Main Street/);
});

test("are limited to 200 a workspace, also by concurrent calls", async () => {
  const service = system.createAdminClient(CannedReplyAdminService);
  const workspace = newWorkspace();
  await system.admin.query(
    "INSERT INTO conversation.canned_replies (workspace_id, name, content) SELECT $1, 'n', 't' FROM generate_series(1, 199)",
    [workspace.workspaceId],
  );
  const add = () => service.addCannedReply({ ...workspace, ...HOURS });
  expect(await countResultsOfConcurrentInserts(system.admin, "conversation.canned_replies", add)).toEqual({
    ok: 1,
    too_many_canned_replies: 19,
  });
});
