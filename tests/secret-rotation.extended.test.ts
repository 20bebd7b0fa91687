import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeWith, isFullRun, replaceFile, startRedis, type TestRedis } from "@parley/test-support";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cliEnv, runCliJson } from "./system/cli.ts";
import { readMetric } from "./system/metrics.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";
import { countOutcomes, TRUST_FORWARDED_FOR, type VisitResult, visit } from "./system/visitors.ts";

const TIMEOUT = { timeout: 30_000 };
const VISITORS = 4;
const SERVICES = ["edge", "conversation", "quota", "llm-proxy"] as const;

describeWith("redis-server", "a system whose secret files change", () => {
  let folder: string;
  let redis: TestRedis;
  /** An administrator's connection to Redis. It stays signed in when its password is removed. */
  let admin: Redis;
  let system: System;
  let tenant: Tenant;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "parley-secret-rotation-"));
    redis = await startRedis({ args: ["--requirepass", "old-password"] });
    admin = new Redis(redisUrl("old-password"));
    await writeSecret("OPENAI_API_KEY", "sk-old");
    await writeSecret("REDIS_URL", redisUrl("old-password"));
    for (const service of SERVICES) await writeSecret(`${service}-token`, "old-token");
    const tokenOf = (service: (typeof SERVICES)[number]) => ({ INTERNAL_TOKEN_FILE: join(folder, `${service}-token`) });
    system = await startSystem({
      env: {
        edge: { ...TRUST_FORWARDED_FOR, ...tokenOf("edge"), REDIS_URL_FILE: join(folder, "REDIS_URL") },
        conversation: tokenOf("conversation"),
        quota: tokenOf("quota"),
        "llm-proxy": { ...tokenOf("llm-proxy"), OPENAI_API_KEY_FILE: join(folder, "OPENAI_API_KEY") },
      },
    });
    tenant = await createTenant(system.admin, { plan: "scale", model: "openai:tokens-20-every-100" });
  });
  afterAll(async () => {
    await system.stop();
    admin.disconnect();
    await redis.stop();
    await rm(folder, { recursive: true });
  });

  const writeSecret = (name: string, text: string) => replaceFile(join(folder, name), `${text}\n`);

  function redisUrl(password: string): string {
    const url = new URL(redis.url);
    url.password = password;
    return url.href;
  }

  /** Runs `work` while visitors chat without a pause. */
  async function runUnderLoad(work: () => Promise<void>): Promise<VisitResult[]> {
    const results: VisitResult[] = [];
    let isWorking = true;
    const visitRepeatedly = async () => {
      while (isWorking) results.push(await visit(system.url(), tenant));
    };
    const visitors = Array.from({ length: VISITORS }, visitRepeatedly);
    try {
      await work();
    } finally {
      isWorking = false;
      await Promise.all(visitors);
    }
    return results;
  }

  const lastKey = () => system.provider.requests.at(-1)?.headers.authorization;
  const edge = () => system.edges[0] as System["edges"][number];

  test("completes every stream, uses the new secrets, and keeps them when a file becomes unusable", async () => {
    const results = await runUnderLoad(async () => {
      await expect.poll(lastKey, TIMEOUT).toBe("Bearer sk-old");
      await Promise.all([
        writeSecret("OPENAI_API_KEY", "sk-new"),
        writeSecret("REDIS_URL", redisUrl("wrong-password")),
      ]);
      await expect.poll(lastKey, TIMEOUT).toBe("Bearer sk-new");
      const refusalCounter = (service: { opsPort: number }, file: string) => () =>
        readMetric(service, "parley_reloads_refused_total", { file });
      // Redis refuses the password, and the edge keeps its connection.
      await expect.poll(refusalCounter(edge(), "REDIS_URL"), TIMEOUT).toBe(1);

      await admin.acl("SETUSER", "default", ">new-password");
      await writeSecret("REDIS_URL", redisUrl("new-password"));
      await expect.poll(() => edge().outputs(), TIMEOUT).toContain("redis connection replaced");
      await admin.acl("SETUSER", "default", "<old-password");

      await Promise.all([writeSecret("OPENAI_API_KEY", ""), writeSecret("REDIS_URL", "http://marker")]);
      await expect.poll(refusalCounter(system.llm, "OPENAI_API_KEY"), TIMEOUT).toBeGreaterThan(0);
      await expect.poll(refusalCounter(edge(), "REDIS_URL"), TIMEOUT).toBeGreaterThan(1);
      const requestsBefore = system.provider.requests.length;
      await expect.poll(() => system.provider.requests.length, TIMEOUT).toBeGreaterThan(requestsBefore + VISITORS);
      expect(lastKey()).toBe("Bearer sk-new");
    });
    expect(results.length).toBeGreaterThan(VISITORS);
    expect(countOutcomes(results)).toEqual({ stop: results.length });
    const visitAndReadFallback = async () => {
      await visit(system.url(), tenant);
      return readMetric(edge(), "parley_rate_limiter_on_fallback");
    };
    await expect.poll(visitAndReadFallback, TIMEOUT).toBe(0);
    for (const service of [edge(), system.llm])
      expect(service.outputs()).not.toMatch(/sk-old|sk-new|(old|new|wrong)-password|marker/);

    // The edge has no database, so its reloads are only in its log.
    const changes = await runCliJson<{ service: string; method: string; target: object }[]>(
      ["audit-log", "--all"],
      cliEnv(system),
    );
    const reloads = changes.filter(({ method }) => method === "Configuration/Reload");
    expect(reloads.map(({ service, target }) => [service, target])).toEqual([
      ["llm-proxy", { file: "OPENAI_API_KEY", result: "refused" }],
      ["llm-proxy", { file: "OPENAI_API_KEY", result: "accepted" }],
    ]);
  });

  test.runIf(isFullRun)(
    "completes every stream if INTERNAL_TOKEN is replaced in one step, although the services read it at different times",
    async () => {
      const outputs = { edge: edge(), conversation: system.conversation, quota: system.quota, "llm-proxy": system.llm };
      const results = await runUnderLoad(async () => {
        for (const service of SERVICES) {
          await writeSecret(`${service}-token`, "new-token");
          await expect
            .poll(() => outputs[service].outputs(), TIMEOUT)
            .toContain("token replaced in one step, previous token kept for a while");
          const requestsBefore = system.provider.requests.length;
          await expect.poll(() => system.provider.requests.length, TIMEOUT).toBeGreaterThan(requestsBefore + VISITORS);
        }
      });
      expect(results.length).toBeGreaterThan(VISITORS * SERVICES.length);
      expect(countOutcomes(results)).toEqual({ stop: results.length });
      for (const service of SERVICES)
        expect(outputs[service].outputs()).not.toMatch(/call refused|old-token|new-token/);
    },
  );
});
