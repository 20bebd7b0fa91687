import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { TestDatabase } from "@parley/test-support";
import { expect, inject, test } from "vitest";
import { queryFirstRow } from "./database.ts";
import { startSystem } from "./system.ts";

test("if a service does not start, startSystem names the service in its error, and leaves no database, provider or edge", async () => {
  let database: TestDatabase | undefined;
  let providerUrl = "";
  const starting = startSystem({
    prepareDatabase: async (prepared) => {
      database = prepared;
    },
    llmConfig: (base_url) => {
      providerUrl = base_url;
      return { providers: { openai: { base_url, api_key_env: "OPENAI_API_KEY" } } };
    },
    env: { quota: { DATABASE_POOL: "none" } },
  });
  await expect(starting).rejects.toThrow(/^quota exited with 1 before it was ready/);
  expect(
    await queryFirstRow({ url: inject("postgresUrl") }, "SELECT datname FROM pg_database WHERE datname = $1", [
      database?.name,
    ]),
  ).toBeUndefined();
  await expect(fetch(`${providerUrl}/models`)).rejects.toThrow("fetch failed");
  const { stdout } = await promisify(execFile)("ps", ["-A", "-ww", "-o", "ppid=,args="]);
  const ownEdgePattern = new RegExp(`^ *${process.pid} .*services/edge/src/main\\.ts`);
  expect(stdout.split("\n").filter((line) => ownEdgePattern.test(line))).toEqual([]);
});
