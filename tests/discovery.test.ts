import { setTimeout as sleep } from "node:timers/promises";
import { freePorts, nodeFlags, type RunningProcess, startProcess } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type NameServer, startNameServer } from "./system/name-server.ts";
import { ADMIN_TOKEN, INTERNAL_TOKEN, root } from "./system/processes.ts";
import { createTenant, serviceDatabaseUrl, type System, startSystem, type Tenant } from "./system/system.ts";
import { countOutcomes, TRUST_TEST_PROXY, visit } from "./system/visitors.ts";

// What a headless Service is: one name, an address a replica. Here the addresses are 127.0.0.11 and on, and a small DNS server tells them.

const REPLICAS = ["127.0.0.11", "127.0.0.12", "127.0.0.13"] as const;
const NEW_REPLICA_WITHIN_MS = 60_000;

let system: System;
let tenant: Tenant;
let dns: NameServer;
let port = 0;
let opsPort = 0;
const replicas = new Map<string, RunningProcess>();

beforeAll(async () => {
  [port = 0, opsPort = 0] = await freePorts(2);
  dns = await startNameServer();
  system = await startSystem({
    env: {
      edge: {
        ...TRUST_TEST_PROXY,
        QUOTA_TARGET: `dns://127.0.0.1:${dns.port}/quota.parley.test:${port}`,
        // Node's own resolver asks the machine's name server; this one asks the server that the target names.
        GRPC_NODE_USE_ALTERNATIVE_RESOLVER: "true",
      },
    },
  });
  tenant = await createTenant(system.admin);
  await Promise.all([startReplica(REPLICAS[0]), startReplica(REPLICAS[1])]);
  dns.tell(REPLICAS[0], REPLICAS[1]);
});
afterAll(async () => {
  await Promise.all([...replicas.values()].map((replica) => replica.stop("SIGTERM", 40_000)));
  await system?.stop();
  await dns.close();
});

test("calls are spread evenly over the replicas behind one name", async () => {
  // The very first calls go to whichever connection stands first, and the streams that calls share are made anew every half second.
  await expect
    .poll(
      async () => {
        await turns(2);
        await sleep(600);
        return spread(2);
      },
      { timeout: 20_000 },
    )
    .toEqual([1, 1]);
  expect(await spread(20)).toEqual([10, 10]);
});

test("a new replica takes half its fair share within a minute, and no call fails meanwhile", async () => {
  await startReplica(REPLICAS[2]);
  dns.tell(...REPLICAS);
  const started = performance.now();
  let share = 0;
  while (share < 1 / 6 && performance.now() - started < NEW_REPLICA_WITHIN_MS) {
    const before = await reservations(REPLICAS[2]);
    expect(await turns(12)).toEqual({ stop: 12 });
    share = ((await reservations(REPLICAS[2])) - before) / 12;
    await sleep(500);
  }
  expect(share).toBeGreaterThanOrEqual(1 / 6);
}, 90_000);

test("a replica that leaves the name and then stops takes no call with it", async () => {
  dns.tell(REPLICAS[1], REPLICAS[2]);
  const leaving = replicas.get(REPLICAS[0]);
  const load = Promise.all(Array.from({ length: 20 }, (_, index) => sleep(index * 50).then(() => turns(2))));
  expect(await leaving?.stop("SIGTERM", 40_000)).toEqual({ code: 0, signal: null });
  for (const ends of await load) expect(ends).toEqual({ stop: 2 });
});

/** Runs turns at once; how often each end was seen. */
async function turns(count: number): Promise<Record<string, number>> {
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
    ready: () =>
      fetch(`http://${host}:${opsPort}/healthz/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
  });
  await replica.waitReady();
  replicas.set(host, replica);
}

/** Runs turns at once that all end well; how many of them each of the first two replicas has reserved. */
async function spread(count: number): Promise<number[]> {
  const before = await counts();
  expect(await turns(count)).toEqual({ stop: count });
  return (await counts()).map((after, index) => after - (before[index] ?? 0));
}

function counts(): Promise<number[]> {
  return Promise.all([reservations(REPLICAS[0]), reservations(REPLICAS[1])]);
}

/** How many Reserve calls a replica has answered, by its own metrics. */
async function reservations(host: string): Promise<number> {
  const metrics = await (await fetch(`http://${host}:${opsPort}/metrics`)).text();
  const counts = metrics.matchAll(/^parley_rpc_server_duration_seconds_count\{.*Reserve".*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
