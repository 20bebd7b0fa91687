import { randomBytes } from "node:crypto";
import { createDatabase, queryRows, startShardRouter } from "@parley/test-support";
import { expect, inject, onTestFinished, test } from "vitest";
import { runCliJson } from "../system/cli.ts";

test("parley migrate with DATABASE_SHARDS migrates every shard, and lists each applied migration once", async () => {
  const databases = [await createDatabase(), await createDatabase()];
  const router = await startShardRouter({ shardUrls: databases.map(({ url }) => url) });
  const prefix = `shop_${randomBytes(4).toString("hex")}_`;
  onTestFinished(async () => {
    await router.stop();
    for (const { drop } of databases) await drop();
    await queryRows(inject("postgresUrl"), `DROP ROLE IF EXISTS ${prefix}llm`);
  });
  const env = {
    DATABASE_URL: router.through(databases[0]?.url ?? ""),
    DATABASE_SHARDS: "2",
    DATABASE_ROLE_PREFIX: prefix,
    LLM_DATABASE_PASSWORD: "password",
  };
  const migrate = () => runCliJson(["migrate", "llm-proxy"], env);
  expect(await migrate()).toEqual([{ service: "llm-proxy", applied: ["0001_baseline"] }]);
  expect(await migrate()).toEqual([{ service: "llm-proxy", applied: [] }]);
  for (const { url } of databases)
    expect(await queryRows(url, "SELECT name FROM llm.migrations")).toEqual([{ name: "0001_baseline" }]);
});
