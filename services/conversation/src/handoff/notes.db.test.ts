import { randomUUID } from "node:crypto";
import { AuditLogAdminService, SessionAdminService } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { eraseSession } from "../sessions/erase-session.store.ts";
import { deleteSession } from "../sessions/sessions.store.ts";
import { rpcFailure, useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";

const system = useTestSystem();
const ANNA = { id: "a1", name: "Anna" };
const OPTIONS = { timeoutMs: 5_000 };

async function startSession() {
  const bot = await createBot(system.database);
  const turn = newTurn(bot);
  await runTurn(system.database, turn);
  return { workspaceId: bot.workspaceId, sessionId: turn.sessionId };
}
type Session = Awaited<ReturnType<typeof startSession>>;

const add = (session: Session, text: string, fields: object = {}) =>
  system.handoffs.addNote(
    { ...session, requestId: randomUUID(), text, author: ANNA, member: "anna", ...fields },
    OPTIONS,
  );
const list = async (session: Session) => (await system.handoffs.listNotes(session, OPTIONS)).notes;

test("a note has its author, its time and its place, and a repeated request adds nothing", async () => {
  const session = await startSession();
  const requestId = randomUUID();
  await add(session, "Wants a refund.", { requestId });
  await add(session, "Wants a refund.", { requestId });
  await add(session, "Called back.", { author: { id: "b2", name: "Ben" }, member: "ben" });
  const notes = await list(session);
  expect(notes).toMatchObject([
    { text: "Wants a refund.", author: ANNA },
    { text: "Called back.", author: { id: "b2", name: "Ben" } },
  ]);
  const { rows } = await system.admin.query(
    "SELECT last_message_id::text AS id FROM conversation.sessions WHERE session_id = $1",
    [session.sessionId],
  );
  expect(new Set(notes.map(({ afterMessageId }) => String(afterMessageId)))).toEqual(new Set([rows[0].id]));
  expect(Date.now() - Date.parse(notes[0]?.createdAt ?? "")).toBeLessThan(60_000);
});

test("the audit log names who has written a note, and not the note", async () => {
  const session = await startSession();
  await add(session, "Wants a refund.");
  const { entries } = await system.createAdminClient(AuditLogAdminService).listAuditLogEntries(session);
  expect(entries).toMatchObject([
    { member: "anna", method: "HandoffService/AddNote", target: { session_id: session.sessionId } },
  ]);
  expect(JSON.stringify(entries[0]?.target)).not.toContain("refund");
});

test("a session has at most 200 notes, also with concurrent requests", async () => {
  const session = await startSession();
  await system.admin.query(
    `INSERT INTO conversation.session_notes (workspace_id, session_id, request_id, after_message_id, author_id, author_name, content)
     SELECT $1, $2, gen_random_uuid(), 1, 'a', 'A', 'n' FROM generate_series(1, 199)`,
    [session.workspaceId, session.sessionId],
  );
  const results = await Promise.all(
    ["a", "b", "c"].map((text) =>
      add(session, text).then(
        () => "added",
        ({ code }: { code: string }) => code,
      ),
    ),
  );
  expect(results.toSorted()).toEqual(["added", "too_many_notes", "too_many_notes"]);
  expect(await list(session)).toHaveLength(200);
});

test("invalid notes are refused, and unknown, deleted and erased sessions have none", async () => {
  const session = await startSession();
  for (const fields of [{ text: " " }, { text: "x".repeat(4_001) }, { author: undefined }, { requestId: "x" }])
    expect(await rpcFailure(add(session, "a", fields))).toMatchObject({ code: "invalid_argument" });
  const [deleted, erased] = [await startSession(), await startSession()];
  for (const each of [deleted, erased]) await add(each, "Wants a refund.");
  await deleteSession(system.database, deleted.workspaceId, deleted.sessionId);
  await eraseSession(system.database, erased.workspaceId, erased.sessionId);
  const foreign = { ...session, sessionId: (await startSession()).sessionId };
  for (const each of [deleted, erased, foreign, { ...session, sessionId: randomUUID() }]) {
    expect(await rpcFailure(add(each, "a"))).toMatchObject({ code: "session_not_found" });
    expect(await rpcFailure(list(each))).toMatchObject({ code: "session_not_found" });
  }
});

test.each(["an erasure", "a retention", "an erasure of the visitor"])(
  "%s removes the notes",
  async (kind) => {
    const bot = await createBot(system.database);
    const turn = newTurn(bot, { visitorId: "visitor-1" });
    await runTurn(system.database, turn);
    const { workspaceId } = bot;
    const session = { workspaceId, sessionId: turn.sessionId };
    await add(session, "Wants a refund.");
    const count = async () =>
      (await system.admin.query("SELECT FROM conversation.session_notes WHERE workspace_id = $1", [workspaceId]))
        .rowCount;
    expect(await count()).toBe(1);
    if (kind === "an erasure") await eraseSession(system.database, workspaceId, session.sessionId);
    if (kind === "a retention") {
      const old =
        "UPDATE conversation.sessions SET last_activity_at = now() - interval '1 day' WHERE workspace_id = $1";
      await system.admin.query(old, [workspaceId]);
      await system.admin.query(
        "UPDATE conversation.messages SET closed_at = now() - interval '1 day' WHERE workspace_id = $1",
        [workspaceId],
      );
      await eraseSession(system.database, workspaceId, session.sessionId, 60);
    }
    if (kind === "an erasure of the visitor")
      await system.createAdminClient(SessionAdminService).eraseVisitor({ workspaceId, visitorId: "visitor-1" });
    await expect.poll(count, { timeout: 15_000 }).toBe(0);
  },
  20_000,
);
