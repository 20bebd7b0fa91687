import { randomUUID } from "node:crypto";
import {
  createDatabase,
  describeWith,
  HANDBOOK,
  type PgBouncer,
  quickOrFull,
  startPgBouncer,
} from "@parley/test-support";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { chat, exportTranscript, postChat } from "./system/chat.ts";
import { queryFirstRow, readBalance, waitUntilSettled } from "./system/database.ts";
import { SERVICE_ROLE_PASSWORD } from "./system/processes.ts";
import { createTenant, type System, serviceDatabaseUrl, startSystem, type Tenant } from "./system/system.ts";
import { countOutcomes, TRUST_FORWARDED_FOR, type VisitResult, visit } from "./system/visitors.ts";

const ROLES = ["parley_conversation", "parley_quota", "parley_llm"];
/** Server connections of each role. Each service opens up to ten connections to the pooler. */
const SERVER_CONNECTIONS = 2;
const VISITORS = 20;
const TURNS = 80;
/** Sessions in the erasure test, with one turn each. */
const ERASURE_SESSIONS = 3;
/** Transcripts that the first test exports. The edge permits each user 30 exports a minute. */
const EXPORTS = 10;

describeWith("pgbouncer", "services behind PgBouncer in transaction mode", () => {
  const withStatements = { pooler: "with prepared statements", maxPreparedStatements: 200, setting: "on" };
  const withoutStatements = { pooler: "without prepared statements", maxPreparedStatements: 0, setting: "off" };
  describe.each(quickOrFull([withoutStatements], [withoutStatements, withStatements]))(
    "$pooler",
    ({ maxPreparedStatements, setting }) => {
      let pooler: PgBouncer;
      let system: System;
      let tenant: Tenant;
      beforeAll(async () => {
        const database = await createDatabase(undefined, { template: inject("migratedDatabase") });
        pooler = await startPgBouncer({
          serverUrl: database.url,
          poolSize: SERVER_CONNECTIONS,
          maxPreparedStatements,
          passwords: Object.fromEntries(ROLES.map((role) => [role, SERVICE_ROLE_PASSWORD])),
        });
        const environmentOf = (service: Parameters<typeof serviceDatabaseUrl>[1]) => ({
          DATABASE_URL: serviceDatabaseUrl(pooler.through(database.url), service),
          DATABASE_PREPARED_STATEMENTS: setting,
        });
        system = await startSystem({
          database,
          edges: 2,
          env: {
            edge: TRUST_FORWARDED_FOR,
            conversation: { ...environmentOf("conversation"), EDGE_LEASE_SECONDS: "3" },
            quota: environmentOf("quota"),
            "llm-proxy": environmentOf("llm-proxy"),
          },
        });
        tenant = await createTenant(system.admin, { model: "openai:echo" });
      });
      afterAll(async () => {
        await system?.stop();
        await pooler?.stop();
      });

      test(`${TURNS} turns of ${VISITORS} visitors use the bot's knowledge, can be exported and are counted`, async () => {
        const { workspaceId, botSlug } = tenant;
        const content = new Uint8Array(Buffer.from(HANDBOOK));
        await system.admin.knowledge.addSource({ workspaceId, botSlug, name: "handbook.md", format: "md", content });
        const visits: VisitResult[] = [];
        const exports: number[] = [];
        let sent = 0;
        const sendMessages = async () => {
          while (sent++ < TURNS) {
            const session_id = randomUUID();
            visits.push(await visit(system.url(), tenant, { session_id, message: "When does the shop open?" }));
            if (visits.length <= EXPORTS) exports.push((await exportTranscript(system, tenant, session_id)).status);
          }
        };
        await Promise.all(Array.from({ length: VISITORS }, sendMessages));
        expect(countOutcomes(visits)).toEqual({ stop: TURNS });
        expect(new Set(exports)).toEqual(new Set([200]));
        expect(JSON.stringify(system.provider.requests.at(-1)?.body)).toContain("from nine to six");
        expect(await waitUntilSettled(system.database, 30_000)).toMatchObject({
          done: TURNS,
          used: TURNS,
          unbalanced: 0,
        });

        for (const role of ROLES)
          expect(await countServerConnections(role), role).toBeLessThanOrEqual(SERVER_CONNECTIONS);
        expect(await countClientConnections("parley_conversation")).toBeGreaterThan(2 * SERVER_CONNECTIONS);
      });

      test("one session is erased on request and one by the retention worker, and the sweeper closes the turn of a killed edge", async () => {
        const { workspaceId } = tenant;
        const stuckTenant = await createTenant(system.admin, { model: "openai:hang" });
        const stuckChat = postChat(system.url(1), stuckTenant).then((response) => response.text());
        await Promise.all([
          expect(stuckChat).rejects.toThrow(),
          expect
            .poll(() => readBalance(system.database), { timeout: 20_000 })
            .toMatchObject({ streaming: 1, held: 1 })
            .then(() => system.edges[1]?.kill9()),
        ]);
        const [requested, expired, kept] = [randomUUID(), randomUUID(), randomUUID()];
        for (const session_id of [requested, expired, kept]) await chat(system.url(), tenant, { session_id });
        await system.admin.sessions.eraseSession({ workspaceId, sessionId: requested });
        await system.admin.workspaces.setRetention({ workspaceId, retentionMinutes: 30 });
        const makeOld = `
          WITH reply AS (UPDATE conversation.messages SET closed_at = now() - interval '31 minutes' WHERE session_id = $1)
          UPDATE conversation.sessions SET last_activity_at = now() - interval '31 minutes' WHERE session_id = $1`;
        await queryFirstRow(system.database, makeOld, [expired]);
        // The retention worker runs when the service starts and then every minute.
        await system.conversation.stop();
        await system.conversation.start();
        const findErased =
          "SELECT array_agg(session_id::text) AS ids FROM conversation.sessions WHERE erased_at IS NOT NULL";
        await expect
          .poll(async () => (await queryFirstRow<{ ids: string[] }>(system.database, findErased)).ids.sort(), {
            timeout: 30_000,
          })
          .toEqual([requested, expired].sort());
        expect(await waitUntilSettled(system.database, 30_000)).toMatchObject({ streaming: 0, held: 0, unbalanced: 0 });
        const exportStatus = async (session: string) => (await exportTranscript(system, tenant, session)).status;
        // The edge must first connect to the new conversation process.
        await expect.poll(() => exportStatus(kept), { timeout: 20_000, interval: 1_000 }).toBe(200);
        expect([await exportStatus(requested), await exportStatus(expired)]).toEqual([404, 404]);
      });

      test("usage reconciles, the call log is complete, and no service with a database has logged a warning or an error", async () => {
        await expect
          .poll(async () => (await system.admin.usageAudit.auditUsage({})).balanced, { timeout: 20_000 })
          .toBe(true);
        const { usage } = await system.admin.workspaces.showUsage({ workspaceId: tenant.workspaceId });
        expect(usage).toMatchObject({ used: TURNS + ERASURE_SESSIONS, held: 0 });
        await expect
          .poll(
            () =>
              queryFirstRow(
                system.database,
                "SELECT count(*)::integer AS calls FROM llm.calls WHERE outcome = 'complete'",
              ),
            { timeout: 20_000 },
          )
          .toMatchObject({ calls: TURNS + ERASURE_SESSIONS });
        const logs = [system.conversation, system.quota, system.llm].map((service) => service.outputs()).join("");
        // The services start at the same time. On a busy machine, the first call of the task "embed knowledge" may time out before llm-proxy
        // accepts connections.
        const startError =
          /"task":"embed knowledge","error":\{"name":"RpcError","message":"Deadline exceeded.*Waiting for LB pick/;
        const problems = logs
          .split("\n")
          .filter((line) => /"level":"(warn|error)"/.test(line) && !startError.test(line));
        expect(problems).toEqual([]);
      });

      async function countServerConnections(role: string): Promise<number> {
        const count = "SELECT count(*)::integer AS n FROM pg_stat_activity WHERE usename = $1 AND datname = $2";
        return (await queryFirstRow<{ n: number }>(system.database, count, [role, system.database.name])).n;
      }

      async function countClientConnections(role: string): Promise<number> {
        const adminClient = new pg.Client({ connectionString: pooler.adminConsoleUrl });
        await adminClient.connect();
        try {
          const { rows } = await adminClient.query<{ user: string }>("SHOW CLIENTS");
          return rows.filter(({ user }) => user === role).length;
        } finally {
          await adminClient.end();
        }
      }
    },
  );
});
