import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLogger } from "@parley/service-kit";
import { createAuthority, createCertificates } from "@parley/service-kit/testing";
import {
  describeWith,
  findCommand,
  freePort,
  freePorts,
  nodeFlags,
  startProcess,
  startRedis,
  type TestRedis,
} from "@parley/test-support";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRedisLimiter } from "./redis-limiter.client.ts";
import type { RedisSettings } from "./redis-settings.ts";

const policy = { name: "chat", limit: 5, windowMs: 60_000 };

const portOf = (server: TestRedis) => Number(new URL(server.url).port);

const TIMEOUT_MS = 120_000;

describeWith(
  "redis-server",
  "the limiter",
  () => {
    let directory: string;
    const stops: (() => Promise<unknown>)[] = [];
    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), "parley-redis-"));
    });
    afterAll(async () => {
      for (const stop of stops.reverse()) await stop();
      await rm(directory, { recursive: true });
    });

    async function start(...args: string[]): Promise<TestRedis> {
      // Each server needs a directory of its own, because a replica stores the master's data in it.
      const server = await startRedis({ args: ["--dir", await mkdtemp(join(directory, "server-")), ...args] });
      stops.push(() => server.stop());
      return server;
    }

    test("with sentinels keeps deciding after a failed reconnect, and uses the new master when the old one stops replying", async () => {
      const master = await start();
      const replica = await start(
        "--replicaof",
        "127.0.0.1",
        String(portOf(master)),
        "--repl-diskless-sync-delay",
        "0",
      );
      const sentinelPort = await startSentinel(portOf(master));
      const settings = {
        urls: [`redis://127.0.0.1:${sentinelPort}`],
        sentinelMaster: "main",
        sentinelPassword: "secret",
      };
      const lines: string[] = [];
      const recorder = createLogger("test", "info", { write: (line) => void lines.push(line) });
      const limiter = createRedisLimiter({ mode: "sentinel", ...settings }, recorder);
      stops.push(async () => limiter.close());
      const remaining = (subject: string) =>
        limiter.take(policy, subject).then(
          (decision) => decision.remaining,
          () => -1,
        );

      await expect.poll(() => remaining("a"), { timeout: 20_000 }).toBeGreaterThanOrEqual(0);
      const [masterClient, replicaClient] = [new Redis(master.url), new Redis(replica.url)];
      stops.push(async () => {
        for (const client of [masterClient, replicaClient]) client.disconnect();
      });
      expect(await masterClient.exists("parley:rate:chat:a")).toBe(1);
      await expect.poll(() => replicaClient.exists("parley:rate:chat:a"), { timeout: 10_000 }).toBe(1);

      const failures: string[] = [];
      const reconnect = (sentinelPassword: string) =>
        limiter.reconnect({ mode: "sentinel", ...settings, sentinelPassword }, ({ message }) => failures.push(message));
      reconnect("wrong");
      await expect.poll(() => failures, { timeout: 20_000 }).toHaveLength(1);
      await expect.poll(() => remaining("c")).toBeGreaterThanOrEqual(0);
      reconnect("secret");
      await expect.poll(() => lines.join(""), { timeout: 20_000 }).toContain("redis connection replaced");
      expect(failures).toHaveLength(1);

      master.pause();
      expect(await remaining("a")).toBe(-1);
      await expect.poll(() => remaining("b"), { timeout: 45_000, interval: 100 }).toBeGreaterThanOrEqual(0);
      expect(await replicaClient.role()).toContain("master");
      expect(await replicaClient.exists("parley:rate:chat:b")).toBe(1);
    });

    /** Returns the sentinel's port. */
    async function startSentinel(masterPort: number): Promise<number> {
      const port = await freePort();
      const config = join(directory, "sentinel.conf");
      const lines = [
        ...["bind 127.0.0.1", `port ${port}`, "requirepass secret", `sentinel monitor main 127.0.0.1 ${masterPort} 1`],
        ...["sentinel down-after-milliseconds main 500", "sentinel failover-timeout main 2000"],
      ];
      await writeFile(config, lines.join("\n"));
      const sentinel = await startProcess({
        name: "Redis Sentinel",
        command: findCommand("redis-server", "valkey-server") ?? "",
        args: [config, "--sentinel"],
        ready: /\+slave slave/,
      });
      stops.push(() => sentinel.stop());
      await sentinel.waitReady();
      return port;
    }

    describe("with TLS and a private authority", () => {
      let authorityFile: string;
      let tlsArgs: string[];
      beforeAll(async () => {
        const tlsDir = await createCertificates(directory, await createAuthority("Redis' authority"), "localhost");
        authorityFile = join(tlsDir, "ca.crt");
        tlsArgs = [
          ...["--tls-cert-file", join(tlsDir, "tls.crt"), "--tls-key-file", join(tlsDir, "tls.key")],
          ...["--tls-ca-cert-file", authorityFile, "--tls-auth-clients", "no"],
        ];
      });

      /** Starts a server whose only port for clients has TLS. */
      async function startTls(port: number, ...args: string[]): Promise<number> {
        await start("--port", "0", "--tls-port", String(port), ...tlsArgs, ...args);
        return port;
      }

      /**
       * Asks the limiter for one decision per element of `subjects`, in a new process. Returns the output of take.child.ts:
       * `<allowed> <failed attempts>`, or `unavailable`.
       */
      async function take(settings: RedisSettings, subjects: string[], env: Record<string, string>): Promise<string> {
        const taking = await startProcess({
          name: "limiter",
          command: process.execPath,
          args: [
            ...nodeFlags,
            fileURLToPath(new URL("take.child.ts", import.meta.url)),
            JSON.stringify({ settings, policy, subjects }),
          ],
          env,
        });
        await taking.exited;
        return taking.stdout().trim();
      }

      test("connects to a standalone server only if it trusts the server's authority", async () => {
        const port = await startTls(await freePort(), "--requirepass", "p,w");
        const settings = { mode: "standalone", urls: [`rediss://:p,w@localhost:${port}`] } as const;
        const subjects = Array.from({ length: policy.limit + 2 }, () => "a");
        const [withAuthority, withoutAuthority] = await Promise.all([
          take(settings, subjects, { NODE_EXTRA_CA_CERTS: authorityFile }),
          take(settings, subjects, {}),
        ]);
        const [allowed = 0, failedAttempts = 0] = withAuthority.split(" ").map(Number);
        // If Redis replies late, the process repeats the request, and Redis counts both attempts.
        expect(allowed).toBeLessThanOrEqual(policy.limit);
        expect(allowed + failedAttempts).toBeGreaterThanOrEqual(policy.limit);
        expect(withoutAuthority).toBe("unavailable");
      });

      test("enforces the limit on a cluster whose certificates contain host names", async () => {
        const allPorts = await freePorts(4);
        const clusterArgs = (busPort: number, file: string) => [
          ...["--cluster-enabled", "yes", "--cluster-config-file", join(directory, file), "--tls-cluster", "yes"],
          ...["--cluster-port", String(busPort), "--cluster-announce-hostname", "localhost"],
          ...["--cluster-preferred-endpoint-type", "hostname"],
        ];
        const [busPorts, ports] = [allPorts.slice(0, 2), allPorts.slice(2)];
        await Promise.all(
          busPorts.map((busPort, index) => startTls(ports[index] ?? 0, ...clusterArgs(busPort, `node-${index}`))),
        );
        const tls = { ca: await readFile(authorityFile) };
        const nodes = ports.map((port) => new Redis({ host: "localhost", port, tls }));
        stops.push(async () => {
          for (const node of nodes) node.disconnect();
        });
        const [first, second] = nodes as [Redis, Redis];
        await first.call("CLUSTER", "ADDSLOTSRANGE", 0, 8_191);
        await second.call("CLUSTER", "ADDSLOTSRANGE", 8_192, 16_383);
        await first.call("CLUSTER", "MEET", "127.0.0.1", ports[1] ?? 0, busPorts[1] ?? 0);
        const states = () =>
          Promise.all(nodes.map(async (node) => String(await node.cluster("INFO")).includes("cluster_state:ok")));
        await expect.poll(states, { timeout: 30_000 }).toEqual([true, true]);

        const settings = { mode: "cluster", urls: [`rediss://localhost:${ports[0]}`] } as const;
        const names = Array.from({ length: 20 }, (_, index) => `198.51.100.${index}`);
        const subjects = names.flatMap((name) => [name, name, name]);
        const env = { NODE_EXTRA_CA_CERTS: authorityFile };
        const results = await Promise.all([take(settings, subjects, env), take(settings, subjects, env)]);
        const [allowed = 0, failedAttempts = 0] = [0, 1].map((index) =>
          results.reduce((sum, result) => sum + Number(result.split(" ")[index]), 0),
        );
        // If Redis replies late, the process repeats the request, and Redis counts both attempts.
        expect(allowed).toBeLessThanOrEqual(names.length * policy.limit);
        expect(allowed + failedAttempts).toBeGreaterThanOrEqual(names.length * policy.limit);
        const counts = await Promise.all(
          nodes.map(async (node) => Promise.all((await node.keys("*")).map((key) => node.zcard(key)))),
        );
        expect(counts.every(({ length }) => length > 0)).toBe(true);
        expect(counts.flat()).toEqual(Array(names.length).fill(policy.limit));
      });
    });
  },
  { timeout: TIMEOUT_MS },
);
