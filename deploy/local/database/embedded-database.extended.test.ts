import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeLocalPostgres, startLocalPostgres } from "@parley/local-postgres";
import { freePort } from "@parley/test-support";
import { Client } from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import { StartError } from "../errors.ts";
import { type EmbeddedDatabaseOptions, startEmbeddedDatabase } from "./embedded-database.ts";

/** Returns the options of a new database and the list to which its notices are added. Removes the data when the test ends. */
async function createOptions(): Promise<{ options: EmbeddedDatabaseOptions; notices: string[] }> {
  const dataDir = await mkdtemp(join(tmpdir(), "parley-embedded-"));
  onTestFinished(async () => {
    await removeLocalPostgres({ dataDir: join(dataDir, "postgres") });
    await rm(dataDir, { recursive: true, force: true });
  });
  const notices: string[] = [];
  const notify = ({ text }: { text: string }) => void notices.push(text);
  return { options: { dataDir, port: await freePort(), password: "password-of-the-tests", notify }, notices };
}

async function readPid(postgresDir: string): Promise<number> {
  return Number((await readFile(join(postgresDir, "postmaster.pid"), "utf8")).split("\n")[0]);
}

test("reports in one line why the database could not be created, and stops the server", async () => {
  const { options } = await createOptions();
  const { url: serverUrl } = await startLocalPostgres({ ...options, dataDir: join(options.dataDir, "postgres") });
  // CREATE DATABASE copies template1, which works only while nobody is connected to it.
  const templateUrl = new URL(serverUrl);
  templateUrl.pathname = "/template1";
  const otherClient = new Client({ connectionString: templateUrl.href });
  otherClient.on("error", () => undefined);
  await otherClient.connect();

  const failure = await startEmbeddedDatabase(options).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(StartError);
  expect(String(failure)).toMatch(
    /^StartError: the embedded PostgreSQL did not open its database \(source database "template1" is being accessed by other users\): start Parley again$/,
  );
  await expect(new Client({ connectionString: serverUrl }).connect()).rejects.toThrow("ECONNREFUSED");
});

test("stopNow sends no signal to the PID of a server that has exited and could not be restarted", async () => {
  const { options, notices } = await createOptions();
  const database = await startEmbeddedDatabase(options);
  const postgresDir = database.dataDir ?? "";
  const pid = await readPid(postgresDir);
  // The restart fails, because the embedded PostgreSQL cannot read data of PostgreSQL 9.
  await writeFile(join(postgresDir, "PG_VERSION"), "9\n");
  process.kill(pid, "SIGINT");
  await vi.waitFor(() => expect(notices.join()).toContain("written by PostgreSQL 9"), 20_000);

  const kill = vi.spyOn(process, "kill");
  onTestFinished(() => kill.mockRestore());
  database.stopNow();
  expect(kill.mock.calls).not.toContainEqual([pid, "SIGINT"]);
});

test("doubles the delay after each failed restart, and restarts when PostgreSQL can read its data again", async () => {
  const { options, notices } = await createOptions();
  const database = await startEmbeddedDatabase(options);
  onTestFinished(() => database.stop());
  const postgresDir = database.dataDir ?? "";
  const versionPath = join(postgresDir, "PG_VERSION");
  const version = await readFile(versionPath, "utf8");
  await writeFile(versionPath, "9\n");
  process.kill(await readPid(postgresDir), "SIGINT");
  await vi.waitFor(() => expect(notices).toHaveLength(3), 20_000);
  await writeFile(versionPath, version);
  await vi.waitFor(() => expect(notices.at(-1)).toBe("restarted"), 20_000);
  expect(notices).toEqual([
    "exited unexpectedly, restarting",
    expect.stringMatching(/^restart failed, retrying in 2 s: .*written by PostgreSQL 9/),
    expect.stringMatching(/^restart failed, retrying in 4 s: .*written by PostgreSQL 9/),
    "restarted",
  ]);
});
