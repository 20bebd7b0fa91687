import type { Database } from "@parley/service-kit";
import { expect, test } from "vitest";
import { queueTestEmail } from "../emails/queue.store.ts";
import { insertCase, insertRun } from "../evaluations/evaluations.store.ts";
import { insertIdentityKey } from "../identity-keys/identity-keys.store.ts";
import { insertKey } from "../keys/keys.store.ts";
import { addRecipient } from "../testing/emails.ts";
import { addDocument } from "../testing/knowledge.ts";
import { insertSessions } from "../testing/sessions.ts";
import { useTestSystem } from "../testing/system.ts";
import { createBot } from "../testing/turns.ts";
import { addEndpoint } from "../testing/webhooks.ts";
import { removeDeletion, storeDeletion } from "./deletions.store.ts";
import { eraseDeletedWorkspaces } from "./erase-workspaces.worker.ts";

const system = useTestSystem();

const warnings: object[] = [];
const erasedWorkspaces: object[] = [];
const log = {
  info: (fields: object) => void erasedWorkspaces.push(fields),
  warn: (fields: object) => void warnings.push(fields),
};
const run = (signal = new AbortController().signal, notifySettler = (): void => undefined) =>
  eraseDeletedWorkspaces({ database: system.database, notifySettler, log }, signal);

async function createWorkspace(sessions: number) {
  const bot = await createBot(system.database);
  const { workspaceId, slug: botSlug, id: botId } = bot;
  const key = {
    publicKey: `k-${bot.id}`,
    workspaceId,
    botSlug,
    allowedDomains: ["a.example"],
    name: "",
    challenge: "off",
  };
  await insertKey(system.database, key, 1);
  await insertIdentityKey(system.database, { workspaceId, kid: "k", algorithm: "HS256", verificationKey: "s" }, 1);
  await addDocument(system.database, bot, "n", "words");
  await addEndpoint(system.database, workspaceId);
  await queueTestEmail(system.database, await addRecipient(system.database, workspaceId));
  await insertCase(system.database, { workspaceId, botId }, { question: "q", document: "n" }, 1);
  const evaluated = { cases: 1, searched: 1, found: 1, semanticFailures: 0, results: [] };
  await insertRun(system.database, { workspaceId, botId }, evaluated);
  return { workspaceId, sessionIds: await insertSessions(system.admin, bot, { sessions }) };
}

async function deleteDaysAgo(workspaceId: string, days: number): Promise<void> {
  await storeDeletion(system.database, workspaceId);
  await system.admin.query(
    "UPDATE conversation.workspace_deletions SET deleted_at = now() - make_interval(days => $2) WHERE workspace_id = $1",
    [workspaceId, days],
  );
}

async function countsOf(workspaceId: string) {
  const { rows } = await system.admin.query(
    `SELECT (SELECT count(*) FROM conversation.sessions WHERE workspace_id = $1 AND erased_at IS NULL)::integer AS sessions,
            (SELECT count(*) FROM conversation.messages WHERE workspace_id = $1)::integer AS messages,
            (SELECT count(*) FROM conversation.knowledge_sources WHERE workspace_id = $1)::integer AS documents,
            (SELECT count(*) FROM conversation.evaluation_cases WHERE workspace_id = $1)::integer
              + (SELECT count(*) FROM conversation.evaluation_runs WHERE workspace_id = $1)::integer AS evaluations,
            (SELECT count(*) FROM conversation.identity_keys WHERE workspace_id = $1)::integer AS "identityKeys",
            (SELECT count(*) FROM conversation.webhook_endpoints WHERE workspace_id = $1)::integer AS webhooks,
            (SELECT count(*) FROM conversation.email_recipients WHERE workspace_id = $1)::integer
              + (SELECT count(*) FROM conversation.email_messages WHERE workspace_id = $1)::integer AS emails,
            (SELECT count(*) FROM conversation.bots WHERE workspace_id = $1)::integer AS bots,
            (SELECT count(*) FROM conversation.workspace_deletions WHERE workspace_id = $1 AND erased_at IS NOT NULL)::integer AS erased`,
    [workspaceId],
  );
  return rows[0];
}

const ERASED = {
  sessions: 0,
  messages: 0,
  documents: 0,
  evaluations: 0,
  identityKeys: 0,
  webhooks: 0,
  emails: 0,
  bots: 0,
  erased: 1,
};

test("storeDeletion returns the stored deletion even if the workspace is restored right after the INSERT", async () => {
  const { workspaceId } = await createBot(system.database);
  const query = async (...args: Parameters<Database["query"]>) => {
    const result = await system.database.query(...args);
    await removeDeletion(system.database, workspaceId);
    return result;
  };
  expect(await storeDeletion({ query } as Database, workspaceId)).toMatchObject({ workspaceId });
});

test("storeDeletion keeps the time of the first deletion when it is called again", async () => {
  const { workspaceId } = await createBot(system.database);
  const first = await storeDeletion(system.database, workspaceId);
  expect(await storeDeletion(system.database, workspaceId)).toEqual(first);
});

test("concurrent runs erase only workspaces that were deleted more than 30 days ago, and log each once", async () => {
  const [due, recent, kept] = await Promise.all([createWorkspace(60), createWorkspace(2), createWorkspace(2)]);
  await deleteDaysAgo(due.workspaceId, 31);
  await deleteDaysAgo(recent.workspaceId, 29);
  await Promise.all([run(), run(), run()]);
  expect(await countsOf(due.workspaceId)).toEqual(ERASED);
  expect(erasedWorkspaces).toEqual([{ workspace_id: due.workspaceId }]);
  const untouched = {
    sessions: 2,
    messages: 4,
    documents: 1,
    evaluations: 2,
    identityKeys: 1,
    webhooks: 1,
    emails: 2,
    bots: 1,
    erased: 0,
  };
  expect(await countsOf(recent.workspaceId)).toEqual(untouched);
  expect(await countsOf(kept.workspaceId)).toEqual(untouched);
  expect(await removeDeletion(system.database, due.workspaceId)).toBe(false);
  expect(await removeDeletion(system.database, recent.workspaceId)).toBe(true);
});

test("the next run continues an interrupted one, and the workspace cannot be restored in between", async () => {
  const { workspaceId } = await createWorkspace(120);
  await deleteDaysAgo(workspaceId, 31);
  const stopping = new AbortController();
  // Stops during the first batch.
  await run(stopping.signal, () => stopping.abort());
  expect(await countsOf(workspaceId)).toMatchObject({ bots: 1, erased: 0 });
  expect(await removeDeletion(system.database, workspaceId)).toBe(false);
  await run();
  expect(await countsOf(workspaceId)).toEqual(ERASED);
});

test("a run erases the rest of a workspace if a session cannot be erased, and a later run erases the session", async () => {
  const { workspaceId, sessionIds } = await createWorkspace(60);
  await deleteDaysAgo(workspaceId, 31);
  const [damaged = ""] = sessionIds;
  await system.admin.query(
    `CREATE FUNCTION conversation.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END';
     CREATE TRIGGER refuse BEFORE UPDATE ON conversation.sessions FOR EACH ROW
     WHEN (OLD.session_id = '${damaged}') EXECUTE FUNCTION conversation.refuse()`,
  );
  await run();
  expect(warnings).toContainEqual(expect.objectContaining({ workspace_id: workspaceId, session_id: damaged }));
  expect(await countsOf(workspaceId)).toEqual({
    sessions: 1,
    messages: 2,
    documents: 0,
    evaluations: 0,
    identityKeys: 0,
    webhooks: 0,
    emails: 0,
    bots: 0,
    erased: 0,
  });
  await system.admin.query("DROP FUNCTION conversation.refuse() CASCADE");
  await run();
  expect(await countsOf(workspaceId)).toEqual(ERASED);
});
