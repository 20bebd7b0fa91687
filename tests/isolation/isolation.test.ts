import { randomUUID } from "node:crypto";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import * as conversation from "@parley/rpc/conversation";
import * as llm from "@parley/rpc/llm";
import * as quota from "@parley/rpc/quota";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { query, readBalance } from "../system/database.ts";
import { chat } from "../system/chat.ts";
import type { ServiceProcess } from "../system/processes.ts";
import { createTenant, type DatabaseService, serviceDatabaseUrl, type System, startSystem } from "../system/system.ts";
import { type Asker, CALLS, type Names, ORDER_TOOL } from "./calls.ts";
import { adminPlane, type Caller, dataPlane } from "./raw-calls.ts";

let system: System;
let asker: Asker;
let other: Asker;
beforeAll(async () => {
  system = await startSystem();
  [asker, other] = [await createThings(), await createThings()];
  // The ledgers are written a moment after the reply has ended.
  await vi.waitFor(
    async () => {
      expect(await readBalance(system.database)).toMatchObject({ used: 2, held: 0, outbox: 0 });
      expect(await query(system.database, "SELECT count(*)::integer AS calls FROM llm.calls")).toEqual({ calls: 2 });
    },
    { timeout: 20_000 },
  );
});
afterAll(() => system?.stop());

/** A tenant with one of everything that has a name. */
async function createThings(): Promise<Asker> {
  const tenant = await createTenant(system.admin, { model: "openai:default" });
  const { workspaceId, botSlug } = tenant;
  const { pattern } = await system.admin.moderation.addPattern({ workspaceId, botSlug, pattern: "never" });
  const sourceName = `source-${randomUUID()}.txt`;
  const content = Buffer.from("Refunds take a week.");
  await system.admin.knowledge.addSource({ workspaceId, botSlug, name: sourceName, format: "txt", content });
  const toolName = `tool_${randomUUID().slice(0, 8)}`;
  await system.admin.tools.putTool({
    workspaceId,
    botSlug,
    tool: { name: toolName, kind: { case: "http", value: ORDER_TOOL } },
  });
  await chat(system.url(), tenant, { visitor_id: `visitor-of-${workspaceId}` });
  const names = await query<{ botId: string; sessionId: string; turnId: string; messageId: string }>(
    system.database,
    `SELECT bot_id AS "botId", session_id AS "sessionId", turn_id AS "turnId", message_id AS "messageId"
     FROM conversation.turns WHERE workspace_id = $1`,
    [workspaceId],
  );
  return { workspaceId, botSlug, sourceName, toolName, patternId: String(pattern?.id), ...names };
}

/** Names like another's, of the same form and length, that nobody has. */
function nobody(like: Names): Names {
  return {
    botId: randomUUID(),
    botSlug: `bot-${randomUUID().slice(0, like.botSlug.length - 4)}`,
    sessionId: randomUUID(),
    turnId: randomUUID(),
    messageId: "987654321",
    patternId: "987654321",
    sourceName: `source-${randomUUID()}.txt`,
    toolName: `tool_${randomUUID().slice(0, 8)}`,
  };
}

/** An answer repeats what it was asked for; that is no difference. Numbers are not repeated. */
function neutral(answer: string, { messageId: _, patternId: __, ...names }: Names): string {
  return Object.entries(names).reduce((text, [what, name]) => text.replaceAll(name, what), answer);
}

const services = [conversation, quota, llm].flatMap((module) =>
  Object.values(module as object).filter((each): each is DescService => each?.kind === "service"),
);
const methods = services.flatMap((service) => service.methods);
const nameOf = (method: DescMethod) => `${method.parent.typeName}/${method.name}`;

function processOf({ typeName }: DescService): ServiceProcess {
  if (typeName.startsWith("parley.quota.")) return system.quota;
  return typeName.startsWith("parley.llm.") ? system.llm : system.conversation;
}

async function callOf<T>(method: DescMethod, use: (call: Caller) => Promise<T>): Promise<T> {
  const { port, opsPort } = processOf(method.parent);
  if (/Admin/.test(method.parent.name)) return use(adminPlane(opsPort));
  const plane = dataPlane(method.parent, port);
  try {
    return await use(plane.call);
  } finally {
    plane.close();
  }
}

/** All that the database holds of a workspace. */
async function holdings(workspaceId: string): Promise<string> {
  const { tables } = await query<{ tables: string }>(
    system.database,
    `SELECT string_agg(format('SELECT %L AS name, t::text AS row FROM %s t WHERE workspace_id = %L', attrelid::regclass, attrelid::regclass, $1::text), ' UNION ALL ') AS tables
     FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
     WHERE attname = 'workspace_id' AND relkind = 'r' AND relnamespace::regnamespace::text IN ('conversation', 'quota', 'llm')`,
    [workspaceId],
  );
  const { all } = await query<{ all: string }>(
    system.database,
    `SELECT string_agg(name || row, E'\\n' ORDER BY name, row) AS all FROM (${tables}) every_table`,
  );
  return all;
}

test("every RPC of every service has its row", () => {
  expect(new Set(methods.map(nameOf))).toEqual(new Set(Object.keys(CALLS)));
});

describe("a name of another tenant is answered as one that nobody has, and changes nothing of theirs", () => {
  const named = Object.entries(CALLS).flatMap(([name, row]) => ("requests" in row ? [{ name, ...row }] : []));
  test.each(named)("$name", async ({ name, requests, volatile = [], isMaking }) => {
    const method = methods.find((each) => nameOf(each) === name);
    if (method === undefined) throw new Error(`no ${name}`);
    const before = await holdings(other.workspaceId);
    const nobodys = nobody(other);
    const asking = isMaking ? await createThings() : asker;
    const answers = (names: Names) =>
      callOf(method, async (call) => {
        const texts: string[] = [];
        for (const fields of requests(asking, names)) texts.push(neutral(await call(method, fields, volatile), names));
        return texts;
      });
    const [theirs, missing] = [await answers(other), await answers(nobodys)];
    expect(theirs).toEqual(missing);
    expect(theirs.join()).not.toContain(other.workspaceId);
    expect(await holdings(other.workspaceId)).toBe(before);
  });
});

describe("a call that names a workspace alone tells nothing of another, and knows no unknown one", () => {
  const alone = Object.entries(CALLS).flatMap(([name, row]) => ("workspace" in row ? [{ name, ...row }] : []));
  test.each(alone)("$name", async ({ name, workspace }) => {
    const method = methods.find((each) => nameOf(each) === name);
    if (method === undefined) throw new Error(`no ${name}`);
    const ask = (id: string) => callOf(method, async (call) => call(method, workspace(id), []));
    const own = await ask(asker.workspaceId);
    for (const secret of [other.workspaceId, other.sessionId, other.turnId, other.botSlug, other.sourceName])
      expect(own).not.toContain(secret);
    const unknown = await ask(`ws_${randomUUID()}`);
    // Also those that could not exist.
    for (const id of [`ws_${randomUUID()}`, "a b", `${other.workspaceId}\u0000`, "%", "x".repeat(65)])
      expect(await ask(id)).toBe(unknown);
    expect(own).not.toBe(unknown);
  });
});

describe("a service's role", () => {
  const owners: DatabaseService[] = ["conversation", "quota", "llm-proxy"];
  test.each(owners)("%s can neither read nor write another's schema, nor change its own", async (owner) => {
    const client = new pg.Client({ connectionString: serviceDatabaseUrl(system.database.url, owner) });
    await client.connect();
    const stateOf = (sql: string) =>
      client.query(sql).then(
        () => "allowed",
        (error: pg.DatabaseError) => error.code,
      );
    try {
      const own = owner === "llm-proxy" ? "llm" : owner;
      const { tables } = await query<{ tables: { schema: string; name: string; column: string }[] }>(
        system.database,
        `SELECT json_agg(json_build_object('schema', nspname, 'name', oid::regclass::text, 'column', first)) AS tables
         FROM (
           SELECT c.oid, n.nspname, (SELECT attname FROM pg_attribute WHERE attrelid = c.oid AND attnum = 1) AS first
           FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
           WHERE relkind = 'r' AND nspname IN ('conversation', 'quota', 'llm')
         ) each`,
      );
      expect(new Set(tables.map(({ schema }) => schema)).size).toBe(3);
      for (const { schema, name, column } of tables) {
        const changes = [`TRUNCATE ${name}`, `DROP TABLE ${name}`, `ALTER TABLE ${name} ADD COLUMN more integer`];
        const uses = [
          `SELECT 1 FROM ${name}`,
          `INSERT INTO ${name} DEFAULT VALUES`,
          `UPDATE ${name} SET ${column} = NULL`,
          `DELETE FROM ${name}`,
        ];
        for (const sql of schema === own ? changes : [...changes, ...uses])
          expect(await stateOf(sql), sql).toBe("42501");
      }
      for (const role of ["parley_conversation", "parley_quota", "parley_llm", "postgres"])
        if (role !== `parley_${own}`) expect(await stateOf(`SET ROLE ${role}`), role).toMatch(/^(42501|22023)$/);
      for (const sql of ["CREATE SCHEMA more", "CREATE ROLE more", "CREATE TABLE public.more (id integer)"])
        expect(await stateOf(sql), sql).toBe("42501");
    } finally {
      await client.end();
    }
  });
});
