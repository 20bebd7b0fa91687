import { Client } from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { createDatabase, queryRows as query } from "./database.ts";

const drops: Array<() => Promise<void>> = [];
afterEach(async () => {
  for (const drop of drops.splice(0)) await drop();
});

describe("createDatabase", () => {
  it("returns a new empty database to each caller", async () => {
    const [one, two] = await Promise.all([createDatabase(), createDatabase()]);
    drops.push(one.drop, two.drop);
    await query(one.url, "CREATE TABLE mine (n int)");
    expect(await query(two.url, "SELECT to_regclass('mine') AS mine")).toEqual([{ mine: null }]);
  });

  it("copies a template with its rows", async () => {
    const template = await createDatabase();
    drops.push(template.drop);
    await query(template.url, "CREATE TABLE t AS SELECT 7 AS n");
    const copy = await createDatabase(undefined, { template: template.name });
    drops.push(copy.drop);
    expect(await query(copy.url, "SELECT n FROM t")).toEqual([{ n: 7 }]);
  });

  it("uses the given name, and returns a superuser's URL", async () => {
    const named = await createDatabase("named-Für-Test");
    drops.push(named.drop);
    expect(
      await query(named.url, "SELECT current_database() AS name, rolsuper FROM pg_roles WHERE rolname = current_user"),
    ).toEqual([{ name: "named-Für-Test", rolsuper: true }]);
  });

  it("drops a database that has open connections", async () => {
    const database = await createDatabase();
    const client = new Client({ connectionString: database.url });
    client.on("error", () => undefined);
    await client.connect();
    await database.drop();
    await expect(query(database.url, "SELECT 1")).rejects.toThrow("does not exist");
    await client.end();
  });
});
