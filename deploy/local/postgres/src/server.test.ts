import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { launchServer } from "./server.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-server-"));
});
afterEach(() => rm(dir, { recursive: true }));

/** Runs a shell script in place of PostgreSQL. Returns the message of the error that the failed start causes. */
async function failureMessageOf(script: string): Promise<string> {
  const [bin, dataDir] = [join(dir, "bin"), join(dir, "data")];
  await mkdir(bin);
  await mkdir(dataDir);
  await writeFile(join(bin, "postgres"), `#!/bin/sh\n${script}\nexit 1\n`, { mode: 0o755 });
  const server = await launchServer({ dataDir, binaries: { dir, version: "18.4.0" } }, { port: 1, fast: true });
  while (server.isRunning()) await sleep(10);
  const { error } = await server.readFailure();
  return error.message;
}

/** PostgreSQL logs this line for each connection that it refuses during recovery. */
const REFUSED_CONNECTION_LINE = "2026-01-01 12:00:00.000 UTC [70] FATAL:  the database system is starting up";

it("reports why PostgreSQL exited, even after thousands of log lines about refused connections", async () => {
  const message = await failureMessageOf(`
    yes '${REFUSED_CONNECTION_LINE}' | head -n 5000
    echo '2026-01-01 12:02:00.000 UTC [60] PANIC:  could not write to file: No space left on device'
    echo '2026-01-01 12:02:00.000 UTC [71] FATAL:  the database system is shutting down'`);
  expect(message).toContain("PostgreSQL did not start: could not write to file: No space left on device; see ");
});

it("reports that the server is starting up if the log has no other reason", async () => {
  expect(await failureMessageOf(`echo '${REFUSED_CONNECTION_LINE}'`)).toContain(
    "did not start: the database system is starting up; see ",
  );
});

it("does not follow a symbolic link that replaced the log", async () => {
  const secret = join(dir, "secret");
  await writeFile(secret, "FATAL:  a line of another file\n");
  const failure = failureMessageOf(`rm '${dir}/data/postgres.log'; ln -s '${secret}' '${dir}/data/postgres.log'`);
  await expect(failure).rejects.toThrow("ELOOP");
});
