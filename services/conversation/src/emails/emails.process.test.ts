import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority, createCertificates } from "@parley/service-kit/testing";
import { type SmtpReceiver, startSmtpReceiver } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { addRecipient, recordThreshold } from "../testing/emails.ts";
import { startTestQuota, type TestQuota } from "../testing/quota.ts";
import { type ServiceProcess, startServiceProcess } from "../testing/service.ts";
import { createBot } from "../testing/turns.ts";

const USER = { name: "parley@sender.example", password: "p@ss word/1" };

let directory: string;
let db: TestDatabase;
let quota: TestQuota;
let receiver: SmtpReceiver;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-emails-"));
  const certificates = await createCertificates(directory, await createAuthority("Mail"), "localhost");
  const read = (name: string) => readFile(join(certificates, name), "utf8");
  receiver = await startSmtpReceiver({
    certificate: { key: await read("tls.key"), cert: await read("tls.crt") },
    user: USER,
  });
  directory = certificates;
  db = await createTestDatabase();
  quota = await startTestQuota();
});
afterAll(async () => {
  quota.close();
  await receiver.close();
  await db.drop();
  await rm(join(directory, ".."), { recursive: true });
});

function start(env: Record<string, string> = {}): Promise<ServiceProcess> {
  const credentials = [USER.name, USER.password].map(encodeURIComponent).join(":");
  return startServiceProcess(db.url, quota.target, {
    env: {
      SMTP_URL: `smtp://${credentials}@localhost:${receiver.port}`,
      MAIL_FROM: "Parley <parley@sender.example>",
      NODE_EXTRA_CA_CERTS: join(directory, "ca.crt"),
      ...env,
    },
  });
}

/** Lets the attempts of killed processes begin again, and their lease end. */
const skipWaits = () =>
  db.admin.query(`
    UPDATE conversation.email_messages SET next_attempt_at = now() WHERE status = 'pending' AND next_attempt_at > now();
    UPDATE conversation.task_leases SET due_at = now()`);
const countSent = async () =>
  Number(
    (await db.admin.query("SELECT count(*) FROM conversation.email_messages WHERE status = 'sent'")).rows[0].count,
  );

test("every recipient gets each event's message over STARTTLS, also if the process is killed, and a second copy is identical", async () => {
  const recipients = [];
  for (let n = 0; n < 3; n++) {
    const { workspaceId } = await createBot(db.database);
    recipients.push(await addRecipient(db.database, workspaceId, { address: `a${n}@example.com` }));
    recipients.push(await addRecipient(db.database, workspaceId, { address: `b${n}@example.com`, language: "de" }));
  }
  const expected = recipients.length * 4;

  // Dies after the server has accepted a message, before the result is stored.
  const first = await start({ PARLEY_FAILPOINTS: "conversation.email-sent=kill@4" });
  for (const workspaceId of new Set(recipients.map((each) => each.workspaceId)))
    for (const threshold of [80, 100, 80, 100]) await recordThreshold(db.database, workspaceId, threshold);
  await first.process.exited;
  first.close();
  expect(await countSent()).toBeLessThan(receiver.received.length);
  const acceptedBefore = receiver.received.length;

  // Is killed while the server has a message and has not answered.
  await skipWaits();
  let release = (): void => undefined;
  receiver.onMessage = () =>
    new Promise((answer) => {
      release = () => answer(undefined);
    });
  const attemptsBefore = receiver.attempts.length;
  const second = await start();
  await expect.poll(() => receiver.attempts.length, { timeout: 60_000 }).toBeGreaterThan(attemptsBefore);
  await second.process.kill9();
  second.close();
  receiver.onMessage = () => undefined;
  release();

  await skipWaits();
  const third = await start();
  await expect
    .poll(
      async () => {
        await skipWaits();
        return countSent();
      },
      { timeout: 60_000, interval: 500 },
    )
    .toBe(expected);
  await third.process.stop();
  third.close();

  expect(acceptedBefore).toBeGreaterThan(0);
  const byId = Map.groupBy(receiver.received, ({ headers }) => headers["message-id"] ?? "");
  expect(byId.size).toBe(expected);
  expect(receiver.received.length).toBeGreaterThan(expected);
  for (const copies of byId.values()) {
    expect(new Set(copies.map(({ to }) => to)).size).toBe(1);
    expect(new Set(copies.map(({ raw }) => raw)).size).toBe(1);
  }
  for (const { address } of recipients) {
    const ids = receiver.received.filter(({ to }) => to === address).map(({ headers }) => headers["message-id"]);
    expect(new Set(ids).size).toBe(4);
  }
  for (const { isSecure, user } of receiver.attempts) expect([isSecure, user]).toEqual([true, USER.name]);
  for (const service of [first, second, third]) {
    expect(service.process.output()).not.toMatch(/@example\.com|p@ss|p%40ss/);
  }
}, 240_000);
