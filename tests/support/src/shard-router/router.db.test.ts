import { once } from "node:events";
import { connect } from "node:net";
import { Client, type ClientConfig } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDatabase, queryRows, type TestDatabase } from "../database.ts";
import { freePort } from "../ports.ts";
import { encodeCancel } from "./messages.ts";
import type { ShardRouter } from "./options.ts";
import { startShardRouter } from "./router.ts";

const SHARDS = 4;
const WORKSPACES = Array.from({ length: 20 }, (_, index) => `ws_${index}`);
const SCHEMA = `
  CREATE SCHEMA quota;
  CREATE TABLE quota.usage (workspace_id text PRIMARY KEY, used integer NOT NULL);
  CREATE TABLE quota.plans (plan text PRIMARY KEY)`;
const INSERT = "INSERT INTO quota.usage (workspace_id, used) VALUES ($1, $2)";
const SELECT = "SELECT used, current_database() AS database FROM quota.usage WHERE workspace_id = $1";
const REFUSED = { code: "58000", message: "cross-shard queries are disabled" };

let databases: TestDatabase[];
let router: ShardRouter;
let url: string;
beforeAll(async () => {
  databases = await Promise.all(Array.from({ length: SHARDS }, () => createDatabase()));
  await Promise.all(databases.map((database) => queryRows(database.url, SCHEMA)));
  router = await startShardRouter({ shardUrls: databases.map((database) => database.url) });
  url = router.through(databases[0]?.url ?? "");
  await withClient(async (client) => {
    for (const [index, workspaceId] of WORKSPACES.entries()) await client.query(INSERT, [workspaceId, index]);
  });
});
afterAll(async () => {
  await router.stop();
  await Promise.all(databases.map((database) => database.drop()));
});

async function withClient<T>(use: (client: Client) => Promise<T>, config: ClientConfig = {}): Promise<T> {
  const client = new Client({ connectionString: url, ...config });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

const nameOf = (workspaceId: string) => databases[router.shardOf(workspaceId)]?.name;
/** Returns workspaces of two shards. */
function findTwoShards(): [string, string] {
  const [first = ""] = WORKSPACES;
  return [first, WORKSPACES.find((workspaceId) => nameOf(workspaceId) !== nameOf(first)) ?? ""];
}

test("each workspace is on its shard only", async () => {
  const stored = await Promise.all(
    databases.map(async ({ name, url: shardUrl }) => {
      const rows = await queryRows<{ id: string }>(shardUrl, "SELECT workspace_id AS id FROM quota.usage");
      return rows.map(({ id }) => ({ id, name }));
    }),
  );
  expect(stored.flat()).toHaveLength(WORKSPACES.length);
  expect(stored.flat()).toEqual(expect.arrayContaining(WORKSPACES.map((id) => ({ id, name: nameOf(id) }))));
  expect(stored.every((rows) => rows.length > 0)).toBe(true);
});

test.each([{ name: "read_usage" }, {}])("routes an unnamed and a prepared statement (%o)", async (statement) => {
  await withClient(async (client) => {
    for (const [used, workspaceId] of [...WORKSPACES, ...WORKSPACES].entries()) {
      const { rows } = await client.query({ ...statement, text: SELECT, values: [workspaceId] });
      expect(rows).toEqual([{ used: used % WORKSPACES.length, database: nameOf(workspaceId) }]);
    }
  });
});

test("routes a simple query by its literal", async () => {
  await withClient(async (client) => {
    for (const workspaceId of WORKSPACES) {
      const { rows } = await client.query(SELECT.replace("$1", `'${workspaceId}'`));
      expect(rows).toMatchObject([{ database: nameOf(workspaceId) }]);
    }
  });
});

test("reports a server's error, and the connection stays usable", async () => {
  await withClient(async (client) => {
    const [workspaceId = ""] = WORKSPACES;
    await expect(client.query({ name: "insert", text: INSERT, values: [workspaceId, 1] })).rejects.toMatchObject({
      code: "23505",
    });
    expect((await client.query(SELECT, [workspaceId])).rows).toHaveLength(1);
  });
});

test.each([
  ["a read without a key", "SELECT used FROM quota.usage", []],
  ["a read of a table without the key", "SELECT plan FROM quota.plans", []],
  ["keys of several shards", "SELECT used FROM quota.usage WHERE workspace_id IN ($1, $2)", "two shards"],
  ["a key that is null", SELECT, [null]],
  ["an advisory lock", "SELECT pg_advisory_lock(1)", []],
] as const)("refuses %s, and the connection stays usable", async (_, sql, values) => {
  await withClient(async (client) => {
    const query = client.query<object>(sql, values === "two shards" ? findTwoShards() : [...values]);
    await expect(query).rejects.toMatchObject(REFUSED);
    expect(router.refusals.at(-1)).toMatchObject({ statement: sql });
    expect((await client.query(SELECT, ["ws_1"])).rows).toHaveLength(1);
  });
});

test("accepts several keys of one shard", async () => {
  const [first = ""] = WORKSPACES;
  const sameShard = WORKSPACES.filter((workspaceId) => nameOf(workspaceId) === nameOf(first)).slice(0, 2);
  await withClient(async (client) => {
    const sql = "SELECT workspace_id AS id FROM quota.usage WHERE workspace_id IN ($1, $2)";
    const { rows } = await client.query<{ id: string }>(sql, sameShard);
    expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(sameShard));
  });
});

test("a transaction runs on the shard of its first statement, and statements of other shards are refused", async () => {
  const [workspaceId, other] = findTwoShards();
  const update = "UPDATE quota.usage SET used = used + 100 WHERE workspace_id = $1";
  await withClient(async (client) => {
    await client.query("BEGIN");
    await client.query(update, [workspaceId]);
    // Once the transaction has its shard, these statements run there.
    await client.query("SET LOCAL enable_sort = off");
    expect((await client.query("SELECT current_database() AS name")).rows).toEqual([{ name: nameOf(workspaceId) }]);
    await client.query("COMMIT");
    const [row] = (await client.query(SELECT, [workspaceId])).rows;
    expect(row).toMatchObject({ used: 100 });

    await client.query("BEGIN");
    await client.query(update, [workspaceId]);
    await expect(client.query(update, [other])).rejects.toMatchObject({
      code: "58000",
      message: "cannot switch shards in a direct-to-shard transaction",
    });
    await expect(client.query(SELECT, [workspaceId])).rejects.toMatchObject({ code: "25P02" });
    expect((await client.query("COMMIT")).command).toBe("ROLLBACK");
    expect((await client.query(SELECT, [workspaceId])).rows).toEqual([row]);
  });
});

test.each(["SELECT pg_advisory_xact_lock(1)", "SET LOCAL enable_sort = off", "SELECT plan FROM quota.plans"])(
  "refuses a transaction whose first statement is %s",
  async (sql) => {
    await withClient(async (client) => {
      await client.query("BEGIN");
      await expect(client.query(sql)).rejects.toMatchObject(REFUSED);
      await expect(client.query(SELECT, ["ws_1"])).rejects.toMatchObject({ code: "25P02" });
      await client.query("ROLLBACK");
      expect((await client.query(SELECT, ["ws_1"])).rows).toHaveLength(1);
    });
  },
);

test("a client that leaves ends its transaction", async () => {
  const [workspaceId = ""] = WORKSPACES;
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("BEGIN");
  await client.query("UPDATE quota.usage SET used = -1 WHERE workspace_id = $1", [workspaceId]);
  await client.end();
  await withClient((next) => next.query("UPDATE quota.usage SET used = used WHERE workspace_id = $1", [workspaceId]));
  const [row] = await queryRows<{ used: number }>(url, SELECT, [workspaceId]);
  expect(row?.used).toBeGreaterThanOrEqual(0);
});

test("the alias of a shard accepts everything", async () => {
  for (const [shard, { name }] of databases.entries()) {
    const alias = router.through(databases[0]?.url ?? "", shard);
    const rows = await queryRows(
      alias,
      "SET enable_sort = off; SELECT current_database() AS name FROM quota.usage LIMIT 1",
    );
    expect(rows).toEqual([{ name }]);
  }
});

test.each(["sharded", "alias"])("a cancel request ends the running statement (%s)", async (kind) => {
  await withClient(
    async (client) => {
      const { processID, secretKey } = client as Client & { processID: number; secretKey: number };
      const running = client.query("SELECT pg_sleep(30) FROM quota.usage WHERE workspace_id = 'ws_1'");
      const ended = expect(running).rejects.toMatchObject({ code: "57014" });
      const { port, hostname } = new URL(url);
      const cancel = setInterval(() => {
        connect(Number(port), hostname).end(encodeCancel({ processId: processID, secret: secretKey }));
      }, 100);
      await ended;
      clearInterval(cancel);
    },
    { connectionString: kind === "alias" ? router.through(url, router.shardOf("ws_1")) : url },
  );
});

test("refuses encryption, a wrong password and an unknown database", async () => {
  const socket = connect(router.port, "127.0.0.1");
  socket.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]));
  expect(String((await once(socket, "data"))[0])).toBe("N");
  socket.destroy();
  const connectTo = (changes: Partial<URL>) => queryRows(Object.assign(new URL(url), changes).href, SELECT, ["ws_1"]);
  await expect(connectTo({ password: "wrong" })).rejects.toMatchObject({ code: "28P01" });
  await expect(connectTo({ pathname: "/other" })).rejects.toMatchObject({ code: "28000" });
});

test("if a shard is down, the workspaces of the others work", async () => {
  const down = Object.assign(new URL(databases[0]?.url ?? ""), { port: String(await freePort()) }).href;
  const shardUrls = [down, ...databases.slice(1).map((database) => database.url)];
  const partial = await startShardRouter({ shardUrls });
  try {
    const sharded = partial.through(url);
    for (const workspaceId of WORKSPACES) {
      const result = queryRows(sharded, SELECT, [workspaceId]);
      if (partial.shardOf(workspaceId) === 0) await expect(result).rejects.toMatchObject({ code: "58000" });
      else expect(await result).toHaveLength(1);
    }
  } finally {
    await partial.stop();
  }
});

test("a client waits for a free connection of the shard", async () => {
  const small = await startShardRouter({ shardUrls: databases.map((database) => database.url), poolSize: 1 });
  try {
    const sleep = "SELECT pg_sleep(0.05) FROM quota.usage WHERE workspace_id = 'ws_1'";
    const runs = Array.from({ length: 10 }, () => queryRows(small.through(url), sleep));
    expect((await Promise.all(runs)).every((rows) => rows.length === 1)).toBe(true);
  } finally {
    await small.stop();
  }
});
