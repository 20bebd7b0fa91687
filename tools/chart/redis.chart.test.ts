import { describe, expect, it } from "vitest";
import { externalEgressPorts } from "./assertions/call-graph.ts";
import { variablesOf } from "./chart-summary.ts";
import { renderChart, runHelmTemplate } from "./render.ts";

describe("Redis", () => {
  const renderEdge = async (...sets: string[]) => {
    const { manifests } = await renderChart("minimal", ["redis.enabled=true", ...sets]);
    const variables = [...variablesOf(manifests)].flatMap(([name, value]) =>
      name.startsWith("edge REDIS_") ? [`${name.slice("edge ".length)}=${value}`] : [],
    );
    return { variables, ports: externalEgressPorts(manifests, "edge") };
  };
  const REDIS_URL = "REDIS_URL_FILE=parley/REDIS_URL";

  it("is one server by default", async () => {
    const { variables, ports } = await renderEdge();
    expect(variables).toEqual([REDIS_URL]);
    expect(ports).toEqual(new Set([443, 6_379]));
  });

  it("is a cluster with redis.mode=cluster, and the edge may connect to networkPolicy.redisPort", async () => {
    const { variables, ports } = await renderEdge("redis.mode=cluster", "networkPolicy.redisPort=7000");
    expect(variables).toEqual([REDIS_URL, "REDIS_MODE=cluster"]);
    expect(ports).toEqual(new Set([443, 7_000]));
  });

  it("is found through sentinels with redis.mode=sentinel, and the edge may connect to the sentinels' port", async () => {
    const key = "SENTINEL_PASSWORD";
    const sets = ["redis.mode=sentinel", "redis.sentinelMaster=main", `redis.sentinelPasswordKey=${key}`];
    const { variables, ports } = await renderEdge(...sets);
    expect(variables).toEqual([
      REDIS_URL,
      `REDIS_SENTINEL_PASSWORD_FILE=parley/${key}`,
      "REDIS_MODE=sentinel",
      "REDIS_SENTINEL_MASTER=main",
    ]);
    expect(ports).toEqual(new Set([443, 6_379, 26_379]));
  });

  it("requires redis.sentinelMaster with redis.mode=sentinel", async () => {
    const { code, output } = await runHelmTemplate("minimal", ["redis.enabled=true", "redis.mode=sentinel"]);
    expect(code).not.toBe(0);
    expect(output).toContain("redis.sentinelMaster is empty");
  });
});
