import { randomUUID } from "node:crypto";
import type { DescMethod } from "@bufbuild/protobuf";
import { shardOf } from "@parley/test-support";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { databasesOf, queryFirstRow } from "../system/database.ts";
import { SERVICES_WITH_DATABASE } from "../system/processes.ts";
import { joinSharedSystem, type SharedSystem } from "../system/shared-system.ts";
import { serviceDatabaseUrl } from "../system/system.ts";
import { METHODS, nameOf } from "./methods.ts";
import { withCall } from "./raw-calls.ts";
import { type Identifiers, RPC_CASES, type TenantData } from "./rpc-cases.ts";
import { createTenantData, readWorkspaceRows, waitUntilRepliesRecorded } from "./tenant-data.ts";

// SQLSTATEs. 22023 is invalid_parameter_value, which SET ROLE returns for an unknown role.
const INSUFFICIENT_PRIVILEGE = "42501";
const UNKNOWN_ROLE = "22023";

let system: SharedSystem;
let caller: TenantData;
let other: TenantData;
beforeAll(async () => {
  system = await joinSharedSystem();
  await system.startEdge();
  [caller, other] = [await createTenantData(system), await createTenantData(system)];
  await waitUntilRepliesRecorded(system.database, [caller, other]);
});
afterAll(() => system?.stop());

/**
 * Returns identifiers that no tenant has. An identifier that a response may repeat has the same length as the tenant's identifier, because
 * encoded responses contain the length.
 */
function unknownIdentifiers({ botSlug }: Identifiers): Identifiers {
  return {
    botId: randomUUID(),
    botSlug: `bot-${randomUUID().slice(0, botSlug.length - 4)}`,
    sessionId: randomUUID(),
    turnId: randomUUID(),
    messageId: "987654321",
    patternId: "987654321",
    answerId: "987654321",
    replyId: "987654321",
    caseId: "987654321",
    kid: randomUUID().slice(0, 12),
    webhookId: randomUUID(),
    recipientId: randomUUID(),
    siteId: "999999999",
    creditId: randomUUID(),
    sourceName: `source-${randomUUID()}.txt`,
    toolName: `tool_${randomUUID().slice(0, 8)}`,
    visitorId: `visitor-of-ws_${randomUUID()}`,
  };
}

/**
 * Replaces the request's identifiers in the response with their field names, so that responses are comparable. Skips numbers, which no
 * response repeats.
 */
function maskIdentifiers(
  response: string,
  { messageId: _, patternId: __, answerId: ____, replyId: ______, caseId: ___, siteId: _____, ...ids }: Identifiers,
): string {
  return Object.entries(ids).reduce((text, [field, id]) => text.replaceAll(id, field), response);
}

test("RPC_CASES has a case for every RPC of conversation, llm-proxy and quota", () => {
  expect(new Set(METHODS.map(nameOf))).toEqual(new Set(Object.keys(RPC_CASES)));
});

function methodOf(name: string): DescMethod {
  const method = METHODS.find((each) => nameOf(each) === name);
  if (method === undefined) throw new Error(`no RPC ${name}`);
  return method;
}

describe("a call with another tenant's identifier gets the same response as with an unknown identifier, and changes no data of that tenant", () => {
  const cases = Object.entries(RPC_CASES).flatMap(([name, each]) => ("requests" in each ? [{ name, ...each }] : []));
  test.each(cases)("$name", async ({ name, requests, volatile = [], creates }) => {
    const method = methodOf(name);
    const before = await readWorkspaceRows(system.database, other.workspaceId);
    const unknownIds = unknownIdentifiers(other);
    const sender = creates ? await createTenantData(system) : caller;
    const responsesTo = (ids: Identifiers) =>
      withCall(system, method, async (call) => {
        const texts: string[] = [];
        for (const fields of requests(sender, ids))
          texts.push(maskIdentifiers(await call(method, fields, volatile), ids));
        return texts;
      });
    const [foreign, unknown] = [await responsesTo(other), await responsesTo(unknownIds)];
    expect(foreign).toEqual(unknown);
    expect(foreign.join()).not.toContain(other.workspaceId);
    expect(await readWorkspaceRows(system.database, other.workspaceId)).toBe(before);
  });
});

/** Returns the field of a request that names the shard of its workspaces. */
function shardFields(method: DescMethod, workspaceId: string): { shard?: number } {
  const { shardUrls } = system.database;
  const hasField = method.input.fields.some(({ name }) => name === "shard");
  return hasField && shardUrls ? { shard: shardOf(workspaceId, shardUrls.length) } : {};
}

describe("a call for one workspace returns no data of another, and calls for unknown workspaces all get the same response", () => {
  const cases = Object.entries(RPC_CASES).flatMap(([name, each]) => ("workspace" in each ? [{ name, ...each }] : []));
  test.each(cases)("$name", async ({ name, workspace }) => {
    const method = methodOf(name);
    const responseFor = (id: string) =>
      withCall(system, method, async (call) => call(method, { ...workspace(id), ...shardFields(method, id) }, []));
    const own = await responseFor(caller.workspaceId);
    for (const secret of [other.workspaceId, other.sessionId, other.turnId, other.botSlug, other.sourceName])
      expect(own).not.toContain(secret);
    const unknown = await responseFor(`ws_${randomUUID()}`);
    // Some of these ids are invalid, so no workspace can have them.
    for (const id of [`ws_${randomUUID()}`, "a b", `${other.workspaceId}\u0000`, "%", "x".repeat(65)])
      expect(await responseFor(id)).toBe(unknown);
    expect(own).not.toBe(unknown);
  });
});

describe("the database role", () => {
  test.each(SERVICES_WITH_DATABASE)(
    "of %s cannot read or write another schema, or change its own schema",
    async (service) => {
      const [database = system.database] = databasesOf(system.database);
      const client = new pg.Client({ connectionString: serviceDatabaseUrl(database.url, service) });
      await client.connect();
      const sqlStateOf = (sql: string) =>
        client.query(sql).then(
          () => "allowed",
          (error: pg.DatabaseError) => error.code,
        );
      try {
        const ownSchema = service === "llm-proxy" ? "llm" : service;
        const { tables } = await queryFirstRow<{ tables: { schema: string; name: string; column: string }[] }>(
          database,
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
          for (const sql of schema === ownSchema ? changes : [...changes, ...uses])
            expect(await sqlStateOf(sql), sql).toBe(INSUFFICIENT_PRIVILEGE);
        }
        for (const role of ["parley_conversation", "parley_quota", "parley_llm", "postgres"])
          if (role !== `parley_${ownSchema}`)
            expect([INSUFFICIENT_PRIVILEGE, UNKNOWN_ROLE], role).toContain(await sqlStateOf(`SET ROLE ${role}`));
        for (const sql of ["CREATE SCHEMA more", "CREATE ROLE more", "CREATE TABLE public.more (id integer)"])
          expect(await sqlStateOf(sql), sql).toBe(INSUFFICIENT_PRIVILEGE);
      } finally {
        await client.end();
      }
    },
  );
});
