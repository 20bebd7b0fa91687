import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { RenewEdgeRequestSchema } from "@parley/rpc/conversation";
import { type Database, singleShard } from "@parley/service-kit";
import { expect, test } from "vitest";
import { lockTables } from "../testing/sessions.ts";
import { useTestSystem } from "../testing/system.ts";
import { handleRenewEdge } from "./renew-edge.rpc.ts";

const system = useTestSystem();

test("RenewEdge renews an edge's lease for at least 30 s", async () => {
  const edgeId = randomUUID();
  for (let renewal = 0; renewal < 2; renewal++) {
    const { rows: clock } = await system.admin.query<{ now: string }>("SELECT clock_timestamp()::text AS now");
    expect(await system.conversation.renewEdge({ edgeId }, { timeoutMs: 5_000 })).toMatchObject({ leaseSeconds: 30 });
    const { rows } = await system.admin.query(
      "SELECT extract(epoch FROM expires_at - $2::timestamptz)::float8 AS seconds FROM conversation.edges WHERE edge_id = $1",
      [edgeId, clock[0]?.now],
    );
    expect(rows[0].seconds).toBeGreaterThanOrEqual(30);
  }
});

test.each([
  ["the database shuts down", { code: "lease_not_stored" }, "57P01"],
  ["the role lacks a privilege", { message: "from the database" }, "42501"],
])("if %s, RenewEdge fails with %j", async (_, expected, code) => {
  const query = async () => {
    throw Object.assign(new Error("from the database"), { code });
  };
  const { shards } = singleShard({ query } as unknown as Database);
  const request = create(RenewEdgeRequestSchema, { edgeId: randomUUID() });
  await expect(handleRenewEdge(shards, 30, request)).rejects.toMatchObject(expected);
});

test("if the database does not answer within a tenth of the lease, RenewEdge fails with lease_not_stored", async () => {
  const edgeId = randomUUID();
  const unlock = await lockTables(system.admin, "conversation.sessions", "conversation.edges");
  try {
    const startedAt = performance.now();
    const { shards } = singleShard(system.database);
    const renewal = handleRenewEdge(shards, 5, create(RenewEdgeRequestSchema, { edgeId }));
    await expect(renewal).rejects.toMatchObject({ code: "lease_not_stored" });
    const waitedMs = performance.now() - startedAt;
    expect(waitedMs).toBeGreaterThan(490);
    expect(waitedMs).toBeLessThan(5_000);
  } finally {
    await unlock();
  }
  // The renewal continues after the error and stores the lease.
  const countLeases = async () =>
    (await system.admin.query("SELECT FROM conversation.edges WHERE edge_id = $1", [edgeId])).rowCount;
  await expect.poll(countLeases).toBe(1);
});
