import { type SmtpReceiver, startSmtpReceiver } from "@parley/test-support";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { chat } from "../system/chat.ts";
import { cliEnv, runCliInProcess, runCliJson } from "../system/cli.ts";
import { createPlan } from "../system/database.ts";
import { createTenant, type System, startSystem } from "../system/system.ts";

// A command takes seconds on a busy machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let system: System;
let receiver: SmtpReceiver;
beforeAll(async () => {
  receiver = await startSmtpReceiver();
  const SMTP_URL = `smtp://127.0.0.1:${receiver.port}?tls=off`;
  system = await startSystem({ env: { conversation: { SMTP_URL } } });
});
afterAll(async () => {
  await system?.stop();
  await receiver?.close();
});

test("an owner adds recipients, who get one message at 80 and at 100 % of the plan's messages", async () => {
  await createPlan(system.database, "five", 5);
  const tenant = await createTenant(system.admin, { plan: "five" });
  const env = cliEnv(system);
  const args = (...words: string[]) => ["email", ...words, "--workspace", tenant.workspaceId];
  const json = <T>(...words: string[]) => runCliJson<T>(args(...words), env);
  const run = (...words: string[]) => runCliInProcess(args(...words), env);

  expect((await run("list")).stdout).toContain("parley email add");
  const { id } = await json<{ id: string }>("add", "--address", "ada@example.com", "--language", "de");
  expect((await run("add", "--address", "ada@example.com")).stderr).toContain("parley email list");
  receiver.onRecipient = () => ({ code: 550, text: "no such user" });
  const refused = await run("test", id);
  expect([refused.code, refused.stdout]).toEqual([1, expect.stringMatching(/^failed: 550 no such user/)]);
  expect((await run("list")).stdout).toMatch(new RegExp(`^${id} +ada@example.com +de +test +failed: 550`, "m"));
  receiver.onRecipient = () => undefined;
  const tested = await run("test", id);
  expect([tested.code, tested.stdout]).toEqual([0, expect.stringMatching(/^sent at /)]);

  receiver.received.length = 0;
  for (let turn = 0; turn < 4; turn++) await chat(system.url(), tenant);
  await expect.poll(() => receiver.received.length, { timeout: 30_000 }).toBe(1);
  await chat(system.url(), tenant);
  await expect.poll(() => receiver.received.length, { timeout: 30_000 }).toBe(2);
  expect(receiver.received.map(({ to }) => to)).toEqual(["ada@example.com", "ada@example.com"]);
  expect(await json("remove", id)).toEqual({ id, removed: true });
  expect((await run("test", id)).code).toBe(1);
});
