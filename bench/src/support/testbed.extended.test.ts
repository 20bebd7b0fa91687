import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { describeWith } from "@parley/test-support";
import { expect, test } from "vitest";
import { startTestbed } from "./testbed.ts";

/** Returns the data folders of the PostgreSQL servers that this process has started and not stopped. */
async function listPostgresFolders(): Promise<string[]> {
  return (await readdir(tmpdir())).filter((name) => name.startsWith(`parley-test-postgres-${process.pid}-`));
}

describeWith("redis-server", "startTestbed", () => {
  test("stops PostgreSQL if a service does not start", async () => {
    const before = await listPostgresFolders();
    const starting = startTestbed("tokens-1", { env: { quota: { DATABASE_POOL: "none" } } });
    await expect(starting).rejects.toThrow(/quota exited with 1 before it was ready/);
    expect(await listPostgresFolders()).toEqual(before);
  });
});
