import { afterAll, beforeAll, expect, test } from "vitest";
import { METHODS, nameOf } from "../isolation/methods.ts";
import { type Fields, withCall } from "../isolation/raw-calls.ts";
import { RPC_CASES, type TenantData } from "../isolation/rpc-cases.ts";
import { createTenantData, waitUntilRepliesRecorded } from "../isolation/tenant-data.ts";
import { type System, startSystem } from "../system/system.ts";

// Checks that each statement for one workspace contains its key, by which a router finds the workspace's shard. Statements over many workspaces must
// use the shards' own databases, which the router does not check.

const SHARDS = 2;
/** Methods that delete what the calls of other methods need. */
const DESTRUCTIVE = /\/(Delete|Erase|Remove|Revoke)\w+$/;

let system: System;
beforeAll(async () => {
  system = await startSystem({ shards: SHARDS });
});
afterAll(() => system?.stop());

const refusals = () => system.shards?.router.refusals;
const shardOf = ({ workspaceId }: TenantData) => system.shards?.router.shardOf(workspaceId) ?? Number.NaN;

test("turns are routed, settled and counted on each shard", async () => {
  const found = new Set<number>();
  for (let tries = 0; found.size < SHARDS && tries < 40; tries++) {
    const tenant = await createTenantData(system);
    const shard = shardOf(tenant);
    const database = system.shards?.shards[shard];
    if (database === undefined) throw new Error(`no shard ${shard}`);
    if (!found.has(shard)) await waitUntilRepliesRecorded(database, [tenant]);
    found.add(shard);
  }
  expect(found.size).toBe(SHARDS);
  expect(refusals()).toEqual([]);
});

/** Returns requests of a tenant. For the operator's methods, returns one with the identifiers of the tenant, which each method uses as it can. */
function requestsOf(name: string, tenant: TenantData): Fields[] {
  const rpcCase = RPC_CASES[name] ?? { reason: "unknown" };
  if ("requests" in rpcCase) return rpcCase.requests(tenant, tenant);
  return "workspace" in rpcCase ? [rpcCase.workspace(tenant.workspaceId)] : [{ ...tenant, name: "Name", plan: "pro" }];
}

// Calls all RPCs one after the other, so its time grows with their number.
test("the statements of every RPC contain their key", async () => {
  let tenant = await createTenantData(system);
  const methods = METHODS.toSorted((a, b) => Number(DESTRUCTIVE.test(nameOf(a))) - Number(DESTRUCTIVE.test(nameOf(b))));
  for (const method of methods) {
    const name = nameOf(method);
    if (DESTRUCTIVE.test(name)) tenant = await createTenantData(system);
    const requests = requestsOf(name, tenant);
    await withCall(system, method, async (call) => {
      for (const fields of requests) await call(method, fields, []);
    });
    expect(refusals(), name).toEqual([]);
  }
}, 180_000);
