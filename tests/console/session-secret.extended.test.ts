import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { replaceFile } from "@parley/test-support";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ConsoleProcess, type DevelopmentSso, startConsole, startDevelopmentSso } from "../system/console.ts";
import { readMetric } from "../system/metrics.ts";
import { type SignedInClient, signIn } from "./owner.ts";

const [OLD, NEW] = ["old-session-secret-of-the-tests-32", "new-session-secret-of-the-tests-32"];
const TIMEOUT = { timeout: 30_000 };

let folder: string;
let sso: DevelopmentSso;
let consoleProcess: ConsoleProcess;
const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-session-secret-"));
  resources.defer(() => rm(folder, { recursive: true }));
  sso = await startDevelopmentSso();
  resources.defer(() => sso.stop());
  await write(OLD);
  const unused = "http://127.0.0.1:1";
  consoleProcess = await startConsole({
    sso,
    conversationUrl: unused,
    quotaUrl: unused,
    edgeUrl: unused,
    env: { SESSION_SECRET_FILE: join(folder, "SESSION_SECRET") },
  });
  resources.defer(() => consoleProcess.stop());
});

const write = (...secrets: string[]) => replaceFile(join(folder, "SESSION_SECRET"), secrets.join("\n"));

/** Returns after the console has reloaded the secrets. */
async function changeSecrets(...secrets: string[]): Promise<void> {
  const countReloads = () => consoleProcess.process.output().split("secret reloaded").length;
  const before = countReloads();
  await write(...secrets);
  await expect.poll(countReloads, TIMEOUT).toBe(before + 1);
}

const statusOf = async (owner: SignedInClient) => (await owner.send("/auth/session")).status;

it("owners stay signed in until the secret that encrypted their session is removed; if the secret file becomes unusable, the console keeps the loaded secrets", async () => {
  const early = await signIn(consoleProcess.url);
  await changeSecrets(OLD, NEW);
  expect(await statusOf(early)).toBe(200);
  await changeSecrets(NEW, OLD);
  expect(await statusOf(early)).toBe(200);
  const late = await signIn(consoleProcess.url);
  // Operators wait twelve hours before this step, until the sessions that the old secret encrypted have ended.
  await changeSecrets(NEW);
  expect([await statusOf(early), await statusOf(late)]).toEqual([401, 200]);

  const countRefused = () => readMetric(consoleProcess, "parley_reloads_refused_total", { file: "SESSION_SECRET" });
  expect(await countRefused()).toBe(0);
  // Too short for a secret.
  await write("marker");
  await expect.poll(countRefused, TIMEOUT).toBeGreaterThan(0);
  expect(await statusOf(late)).toBe(200);
  const output = consoleProcess.process.output();
  expect(output).toContain("secret refused, previous one kept");
  expect(output).not.toMatch(new RegExp(`${OLD}|${NEW}|marker`));
});
