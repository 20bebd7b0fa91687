import { createLogger, type Database, FairQueue } from "@parley/service-kit";
import { type SmtpReceiver, type SmtpReceiverOptions, startSmtpReceiver } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { recordKnowledgeFailed, recordWebhookDisabled } from "../events/index.ts";
import { recordUsageEvents } from "../events/usage-events.store.ts";
import { leaveContactMessage } from "../handoff/contact-messages.store.ts";
import { eraseSession } from "../sessions/erase-session.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { addRecipient, recordThreshold } from "../testing/emails.ts";
import { addDocument } from "../testing/knowledge.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { copyEvents } from "../webhooks/queue.store.ts";
import { keepEmails } from "./housekeeping.worker.ts";
import { queueTestEmail } from "./queue.store.ts";
import { deleteRecipient, listRecipients } from "./recipients.store.ts";
import { sendEmail } from "./send-email.client.ts";
import { EmailSender, type EmailSenderDeps } from "./sender.worker.ts";
import { parseSmtpUrl } from "./smtp-settings.ts";

/** The limit of a wait on a busy machine. */
const WAIT = { timeout: 20_000 };
const SENDER = { name: "Parley", address: "parley@sender.example" };
const logged: unknown[] = [];
const log = { ...createLogger("test", "silent"), info: (fields: unknown) => void logged.push(fields) };

let db: TestDatabase;
let database: Database;
const inc = vi.fn();
beforeAll(async () => {
  db = await createTestDatabase();
  database = db.database;
});
afterAll(() => db.drop());
// Before each test, when the senders of the previous one have stopped.
beforeEach(async () => {
  vi.clearAllMocks();
  await db.admin.query(
    "TRUNCATE conversation.events, conversation.email_recipients, conversation.email_messages, conversation.task_leases",
  );
});

async function createReceiver(options?: SmtpReceiverOptions): Promise<SmtpReceiver> {
  const receiver = await startSmtpReceiver(options);
  onTestFinished(() => receiver.close());
  return receiver;
}

function newSender(port: number, changes: Partial<EmailSenderDeps> & { url?: string; timeoutMs?: number } = {}) {
  const { url = `smtp://127.0.0.1:${port}?tls=off`, timeoutMs = 3_000, ...rest } = changes;
  const server = parseSmtpUrl(url);
  const sender = new EmailSender({
    database,
    send: (email) => sendEmail({ server, sender: SENDER, log, timeoutMs }, email),
    attempts: new FairQueue({ maxActive: 8 }),
    metrics: { emails: { inc } },
    log: createLogger("test", "silent"),
    ...rest,
  });
  onTestFinished(() => sender.stop());
  return sender;
}

/** Copies the events to the queue and sends until `done`. */
async function sendUntil(sender: EmailSender, done: () => unknown) {
  await copyEvents(database, 500);
  await expect
    .poll(async () => {
      await sender.run();
      return done();
    }, WAIT)
    .toBeTruthy();
}

const countOf = async (condition: string) =>
  Number((await db.admin.query(`SELECT count(*) FROM conversation.email_messages WHERE ${condition}`)).rows[0].count);
const lastOf = async (workspaceId: string) => (await listRecipients(database, workspaceId))[0]?.last;
/** Lets the attempts begin that wait for their time. */
const skipWaits = () =>
  db.admin.query("UPDATE conversation.email_messages SET next_attempt_at = now() WHERE status = 'pending'");
const skipAnHour = () =>
  db.admin.query(
    "UPDATE conversation.email_messages SET created_at = created_at - interval '1 hour', last_attempt_at = last_attempt_at - interval '1 hour'",
  );

test("each recipient gets one message for an event, in its language, as text and HTML without links and images", async () => {
  const { workspaceId } = await createBot(database);
  await addRecipient(database, workspaceId);
  await addRecipient(database, workspaceId, { address: "max@example.com", language: "de" });
  await addRecipient(database, (await createBot(database)).workspaceId, { address: "other@example.com" });
  const receiver = await createReceiver();
  const occurredAt = "2026-11-01T00:00:00Z";
  const data = { month: "2026-11", threshold: 80, used: 4_000, cap: 5_000 };
  const event = { workspaceId, id: crypto.randomUUID(), type: "usage.threshold", occurredAt, data };
  await recordUsageEvents(
    database,
    [event, { ...event, id: crypto.randomUUID(), data: { ...data, threshold: 50 } }],
    1n,
  );
  const sender = newSender(receiver.port);
  await sendUntil(sender, () => receiver.received.length === 2);
  await sender.run();
  expect(receiver.received.map(({ to }) => to).toSorted()).toEqual(["ada@example.com", "max@example.com"]);
  const [email = expect.fail()] = receiver.received.filter(({ to }) => to === "ada@example.com");
  expect(email.headers).toMatchObject({
    from: "Parley <parley@sender.example>",
    subject: `${workspaceId}: 80% of the month's messages are used`,
    "auto-submitted": "auto-generated",
    "message-id": expect.stringMatching(new RegExp(`^<${event.id}\\.[\\w-]{36}@sender\\.example>$`)),
  });
  expect(email.headers["content-type"]).toContain("multipart/alternative");
  expect(email.raw).not.toMatch(/https?:|<img/i);
  await expect
    .poll(() => lastOf(workspaceId), WAIT)
    .toMatchObject({
      status: "sent",
      attempts: 1,
      error: null,
      type: "usage.threshold",
    });
  await expect.poll(() => inc.mock.calls, WAIT).toEqual([[{ result: "sent" }], [{ result: "sent" }]]);
});

test("a disabled webhook and a failed refresh are mailed; a document that could not be added is not", async () => {
  const bot = await createBot(database);
  const { workspaceId, slug: botSlug } = bot;
  await addRecipient(database, workspaceId);
  await addDocument(database, bot, "prices", "words");
  for (const name of ["prices", "new"])
    await recordKnowledgeFailed(database, { workspaceId, botSlug, name, code: "timeout" });
  await recordWebhookDisabled(database, { workspaceId, id: "w", host: "hooks.example", reason: "gone" });
  const receiver = await createReceiver();
  await sendUntil(newSender(receiver.port), () => receiver.received.length === 2);
  expect(receiver.received.map(({ headers }) => headers.subject).toSorted()).toEqual([
    `${workspaceId}: the document prices was not refreshed`,
    `${workspaceId}: the webhook to hooks.example is disabled`,
  ]);
});

test("a temporary failure is repeated with the same message until the server accepts it", async () => {
  const { workspaceId } = await createBot(database);
  await addRecipient(database, workspaceId);
  await recordThreshold(database, workspaceId);
  const receiver = await createReceiver();
  receiver.onMessage = () => ({ code: 451, text: "try ada@example.com again later" });
  const sender = newSender(receiver.port);
  await sendUntil(sender, async () => (await lastOf(workspaceId))?.error);
  const retried = await lastOf(workspaceId);
  expect(retried).toMatchObject({ status: "pending", error: expect.stringContaining("again later") });
  const waitMs = Number(retried?.nextAttemptAt) - Number(retried?.lastAttemptAt);
  expect(waitMs).toBeGreaterThan(7_000);
  expect(waitMs).toBeLessThan(14_000);
  expect(JSON.stringify(logged)).not.toContain("ada@");
  receiver.onMessage = () => undefined;
  await skipWaits();
  await sendUntil(sender, () => receiver.received.length === 1);
  await expect.poll(() => lastOf(workspaceId), WAIT).toMatchObject({ status: "sent", attempts: 2, error: null });
  const [first, second] = receiver.attempts;
  expect(second?.headers["message-id"]).toBe(first?.headers["message-id"]);
  expect(second?.headers.date).toBe(first?.headers.date);
});

test("a refused recipient is final and recorded, and delays nothing", async () => {
  const { workspaceId } = await createBot(database);
  await addRecipient(database, workspaceId, { address: "gone@example.com" });
  await addRecipient(database, workspaceId, { address: "max@example.com" });
  await recordThreshold(database, workspaceId);
  const receiver = await createReceiver();
  receiver.onRecipient = (address) => (address.startsWith("gone") ? { code: 550, text: "no such user" } : undefined);
  await sendUntil(newSender(receiver.port), () => receiver.received.length === 1);
  await expect
    .poll(() => lastOf(workspaceId), WAIT)
    .toMatchObject({ status: "failed", attempts: 1, error: "550 no such user" });
  await expect.poll(() => inc.mock.calls, WAIT).toContainEqual([{ result: "failed" }]);
});

test("a wrong password and a server that does not answer are repeated, and time out", async () => {
  const { workspaceId } = await createBot(database);
  await addRecipient(database, workspaceId);
  await recordThreshold(database, workspaceId);
  const receiver = await createReceiver();
  receiver.onMessage = () => new Promise(() => undefined);
  const started = performance.now();
  await sendUntil(newSender(receiver.port, { timeoutMs: 500 }), async () => (await lastOf(workspaceId))?.error);
  expect(performance.now() - started).toBeLessThan(5_000);
  expect(await lastOf(workspaceId)).toMatchObject({ status: "pending", attempts: 1 });
  await expect.poll(() => inc.mock.calls, WAIT).toEqual([[{ result: "retried" }]]);
});

test("without STARTTLS, a server of an smtp URL gets no message", async () => {
  const { workspaceId } = await createBot(database);
  await addRecipient(database, workspaceId);
  await recordThreshold(database, workspaceId);
  const receiver = await createReceiver();
  const sender = newSender(receiver.port, { url: `smtp://127.0.0.1:${receiver.port}` });
  await sendUntil(sender, async () => (await lastOf(workspaceId))?.error);
  expect(await lastOf(workspaceId)).toMatchObject({ status: "pending" });
  expect(receiver.attempts).toEqual([]);
});

test("25 events in an hour are 20 messages and, an hour later, one summary", async () => {
  const { workspaceId } = await createBot(database);
  await addRecipient(database, workspaceId);
  for (let n = 0; n < 25; n++) await recordThreshold(database, workspaceId, n < 22 ? 80 : 100);
  const receiver = await createReceiver();
  const sender = newSender(receiver.port);
  await sendUntil(sender, async () => (await countOf("status = 'held'")) === 5);
  await expect.poll(() => countOf("status = 'sent'"), WAIT).toBe(20);
  await expect.poll(() => inc.mock.calls, WAIT).toContainEqual([{ result: "held" }, 5]);
  expect(receiver.received).toHaveLength(20);
  await sender.run();
  expect(await countOf("status = 'pending'")).toBe(0);
  await skipAnHour();
  await sendUntil(sender, () => receiver.received.length > 20);
  await expect.poll(() => countOf("status = 'sent'"), WAIT).toBe(21);
  await sender.run();
  expect(receiver.received).toHaveLength(21);
  expect(receiver.received.at(-1)?.headers.subject).toBe(`${workspaceId}: more events`);
  expect(receiver.received.at(-1)?.raw).toContain("80 % or 100 %: 5");
  expect(await countOf("status = 'held'")).toBe(0);
});

test("events of visitors have a limit of their own: they hold no other message, and are summed up with them", async () => {
  const { workspaceId } = await createBot(database);
  await addRecipient(database, workspaceId);
  const recordRequests = () =>
    db.admin.query(
      `INSERT INTO conversation.events (workspace_id, type, occurred_at, data)
       SELECT $1, 'handoff.requested', now(), '{"bot_slug": "shop", "session_id": "s"}' FROM generate_series(1, 25)`,
      [workspaceId],
    );
  await recordRequests();
  const receiver = await createReceiver();
  const sender = newSender(receiver.port);
  await sendUntil(sender, async () => (await countOf("status = 'held'")) === 5);
  for (let n = 0; n < 21; n++) await recordThreshold(database, workspaceId);
  await sendUntil(sender, async () => (await countOf("status = 'held'")) === 6);
  await expect.poll(() => countOf("status = 'sent'"), WAIT).toBe(40);
  expect(await countOf("status = 'sent' AND type = 'usage.threshold'")).toBe(20);
  await skipAnHour();
  await sendUntil(sender, () => receiver.received.length > 40);
  const { raw = "" } = receiver.received.at(-1) ?? {};
  expect(raw).toContain("Visitors who asked for a person: 5");
  expect(raw).toContain("80 % or 100 %: 1");
});

test("messages that are repeated count once, and removed recipients count too", async () => {
  const { workspaceId } = await createBot(database);
  const { recipientId } = await addRecipient(database, workspaceId);
  const receiver = await createReceiver();
  receiver.onMessage = () => ({ code: 451, text: "later" });
  for (let n = 0; n < 20; n++) await recordThreshold(database, workspaceId);
  const sender = newSender(receiver.port);
  await sendUntil(sender, async () => (await countOf("error IS NOT NULL")) === 20);
  receiver.onMessage = () => undefined;
  await skipWaits();
  await sendUntil(sender, () => receiver.received.length === 20);
  await expect.poll(() => countOf("status = 'sent'"), WAIT).toBe(20);
  await deleteRecipient(database, { workspaceId, recipientId });
  const added = await addRecipient(database, workspaceId);
  expect(await queueTestEmail(database, added)).toBe("limited");
});

test("a removed recipient gets nothing more, and no response of the server is kept", async () => {
  const { workspaceId } = await createBot(database);
  const recipient = await addRecipient(database, workspaceId);
  await recordThreshold(database, workspaceId);
  const receiver = await createReceiver();
  receiver.onMessage = () => ({ code: 451, text: "ada@example.com: later" });
  const sender = newSender(receiver.port);
  await sendUntil(sender, async () => (await lastOf(workspaceId))?.error);
  expect(await deleteRecipient(database, recipient)).toBe(true);
  expect(await deleteRecipient(database, recipient)).toBe(false);
  expect(await countOf("error IS NOT NULL OR status <> 'failed'")).toBe(0);
  await sender.run();
  expect(receiver.attempts).toHaveLength(1);
});

test("one of two replicas sends", async () => {
  const { workspaceId } = await createBot(database);
  await addRecipient(database, workspaceId);
  const receiver = await createReceiver();
  const [first, second] = [newSender(receiver.port), newSender(receiver.port)];
  await first.run();
  await recordThreshold(database, workspaceId);
  await copyEvents(database, 500);
  await second.run();
  expect(receiver.attempts).toEqual([]);
  await sendUntil(first, () => receiver.received.length === 1);
});

test("a message that has waited for a day fails, and messages are deleted after 30 days", async () => {
  const { workspaceId } = await createBot(database);
  const recipient = await addRecipient(database, workspaceId);
  await queueTestEmail(database, recipient);
  await db.admin.query("UPDATE conversation.email_messages SET created_at = now() - interval '25 hours'");
  const { signal } = new AbortController();
  await keepEmails(database, signal);
  expect(await lastOf(workspaceId)).toMatchObject({ status: "failed", error: "not sent within 24 hours" });
  await db.admin.query("UPDATE conversation.email_messages SET created_at = now() - interval '31 days'");
  await keepEmails(database, signal);
  expect(await countOf("true")).toBe(0);
});

test("a message that a visitor left is sent with its text, a reply goes to the visitor, and an erased one is not sent", async () => {
  const bot = await createBot(database);
  const { workspaceId } = bot;
  await addRecipient(database, workspaceId);
  const leave = async (message: string) => {
    const turn = newTurn(bot);
    await runTurn(database, turn);
    const session = { workspaceId, sessionId: turn.sessionId, botId: bot.id, visitorId: "", visitorVerified: false };
    await leaveContactMessage(database, {
      ...session,
      requestId: crypto.randomUUID(),
      email: "vi@example.com",
      message,
    });
    return turn.sessionId;
  };
  const erased = await leave("Forget me.");
  const kept = await leave("<b>Hi</b>\u202e\u0007\r\nWhere is my order?");
  const stored = await db.admin.query("SELECT data::text FROM conversation.events");
  expect(JSON.stringify(stored.rows)).not.toMatch(/vi@example|order|Forget/);
  await eraseSession(database, workspaceId, erased);
  const receiver = await createReceiver();
  const sender = newSender(receiver.port);
  await sendUntil(sender, async () => (await countOf("status = 'pending'")) === 0);
  expect(receiver.received).toHaveLength(1);
  const { headers, raw: folded } = receiver.received[0] ?? expect.fail();
  const raw = folded.replaceAll("=\r\n", "");
  expect(headers).toMatchObject({
    subject: `${workspaceId}: a visitor has left a message`,
    "reply-to": "vi@example.com",
    from: "Parley <parley@sender.example>",
  });
  expect(raw).toContain("Your reply to this e-mail goes to vi@example.com.");
  expect(raw).toContain(kept);
  expect(raw).toContain("> <b>Hi</b>\r\n> Where is my order?");
  expect(raw).toContain("&lt;b&gt;Hi&lt;/b&gt;");
  expect(raw).not.toContain("Forget me");
  expect(await countOf("status = 'failed' AND error = 'the contact message was erased or deleted'")).toBe(1);
  expect(JSON.stringify(logged)).not.toContain("vi@example.com");
});
