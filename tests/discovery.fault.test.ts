import { setTimeout as sleep } from "node:timers/promises";
import { freePorts, nodeFlags, type RunningProcess, startProcess } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ADMIN_TOKEN, INTERNAL_TOKEN, returnsOk, root } from "./system/processes.ts";
import { type NameServer, startNameServer } from "./system/servers/name-server.ts";
import { createTenant, type System, serviceDatabaseUrl, startSystem, type Tenant } from "./system/system.ts";
import { countOutcomes, TRUST_FORWARDED_FOR, visit } from "./system/visitors.ts";

// In Kubernetes a headless Service is one DNS name with an address for each replica. These tests run a DNS server that resolves one name to
// the replicas' loopback addresses.

const REPLICAS = ["127.0.0.11", "127.0.0.12", "127.0.0.13"] as const;
const NEW_REPLICA_TIMEOUT_MS = 60_000;
/** So many batches in a row are not even by chance. */
const EVEN_BATCHES = 4;
/** Half of the fair share of one of three replicas. */
const MIN_SHARE = 1 / 6;

let system: System;
let tenant: Tenant;
let dns: NameServer;
let port = 0;
let opsPort = 0;
const replicas = new Map<string, RunningProcess>();
const resources = new AsyncDisposableStack();

afterAll(() => resources.disposeAsync());
beforeAll(async () => {
  [port = 0, opsPort = 0] = await freePorts(2);
  dns = await startNameServer();
  resources.defer(() => dns.close());
  system = await startSystem({ edges: 0 });
  resources.defer(() => system.stop());
  tenant = await createTenant(system.admin);
  await Promise.all([startReplica(REPLICAS[0]), startReplica(REPLICAS[1])]);
  dns.setAddresses(REPLICAS[0], REPLICAS[1]);
  await system.startEdge({
    ...TRUST_FORWARDED_FOR,
    QUOTA_TARGET: `dns://127.0.0.1:${dns.port}/quota.parley.test:${port}`,
    // grpc-js's default resolver uses the machine's DNS server. The alternative one queries the server in the target.
    GRPC_NODE_USE_ALTERNATIVE_RESOLVER: "true",
  });
});

test("an edge spreads its calls evenly over the replicas behind one DNS name", async () => {
  // At first all calls use one connection. The edge reaches both replicas once it reopens its multiplexed streams, which it does every half second.
  await expect
    .poll(
      async () => {
        await runTurns(2);
        await sleep(600);
        return Math.min(...(await runTurnsAndCountCalls(2)));
      },
      { timeout: 20_000 },
    )
    .toBeGreaterThan(0);
  // A replica that does not answer a new stream within half a second, as on a busy machine, gets no calls until the next renewal.
  let evenBatches = 0;
  await expect
    .poll(
      async () => {
        const [first = 0, second = 0] = await runTurnsAndCountCalls(20);
        evenBatches = Math.abs(first - second) <= 1 ? evenBatches + 1 : 0;
        return evenBatches;
      },
      { timeout: 60_000 },
    )
    .toBe(EVEN_BATCHES);
}, 120_000);

test("an edge sends a new replica at least half its fair share within a minute, and no call fails", async () => {
  await startReplica(REPLICAS[2]);
  dns.setAddresses(...REPLICAS);
  const startedAt = performance.now();
  let share = 0;
  while (share < MIN_SHARE && performance.now() - startedAt < NEW_REPLICA_TIMEOUT_MS) {
    const before = await countCalls(REPLICAS[2], "Reserve");
    expect(await runTurns(12)).toEqual({ stop: 12 });
    share = ((await countCalls(REPLICAS[2], "Reserve")) - before) / 12;
    // The edge resolves the name again only when a replica closes a connection. Replicas do so after 30 s.
    await sleep(1_500);
  }
  expect(share).toBeGreaterThanOrEqual(MIN_SHARE);
}, 90_000);

test("no call of an edge fails when a replica is removed from the DNS name and stops", async () => {
  dns.setAddresses(REPLICAS[1], REPLICAS[2]);
  const leaving = replicas.get(REPLICAS[0]);
  const load = Promise.all(Array.from({ length: 20 }, (_, index) => sleep(index * 50).then(() => runTurns(2))));
  expect(await leaving?.stop("SIGTERM", 40_000)).toEqual({ code: 0, signal: null });
  for (const outcomes of await load) expect(outcomes).toEqual({ stop: 2 });
});

async function runTurns(count: number): Promise<Record<string, number>> {
  return countOutcomes(await Promise.all(Array.from({ length: count }, () => visit(system.url(), tenant))));
}

async function startReplica(host: string): Promise<void> {
  const replica = await startProcess({
    name: `quota on ${host}`,
    command: process.execPath,
    args: [...nodeFlags, "services/quota/src/main.ts"],
    cwd: root,
    env: {
      HOST: host,
      GRPC_PORT: String(port),
      OPS_PORT: String(opsPort),
      INTERNAL_TOKEN,
      ADMIN_TOKEN,
      DATABASE_URL: serviceDatabaseUrl(system.database.url, "quota"),
    },
    ready: () => returnsOk(`http://${host}:${opsPort}/healthz/ready`),
  });
  resources.defer(async () => void (await replica.stop("SIGTERM", 40_000)));
  await replica.waitReady();
  replicas.set(host, replica);
}

/**
 * Runs `count` concurrent turns and returns how many calls each of the first two replicas received meanwhile. Counts all methods: the edge
 * also calls GetWorkspace from time to time to check whether quota responds, and this call takes a place in the round robin.
 */
async function runTurnsAndCountCalls(count: number): Promise<number[]> {
  const readCounts = () => Promise.all([countCalls(REPLICAS[0], "\\w+"), countCalls(REPLICAS[1], "\\w+")]);
  const before = await readCounts();
  expect(await runTurns(count)).toEqual({ stop: count });
  return (await readCounts()).map((after, index) => after - (before[index] ?? 0));
}

/** Reads from a replica's metrics how many calls of QuotaService it has completed. `method` is a regular expression. */
async function countCalls(host: string, method: string): Promise<number> {
  const metrics = await (await fetch(`http://${host}:${opsPort}/metrics`)).text();
  const pattern = `^parley_rpc_server_duration_seconds_count\\{.*QuotaService/${method}".*\\} (\\d+)$`;
  const counts = metrics.matchAll(new RegExp(pattern, "gm"));
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
