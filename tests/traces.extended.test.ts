import { setTimeout as sleep } from "node:timers/promises";
import { describeWith, freePort, isFullRun, replaceFile } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "./system/chat.ts";
import { readMetric } from "./system/metrics.ts";
import { type Collector, startCollector } from "./system/servers/collector.ts";
import { startPrometheus } from "./system/servers/prometheus.ts";
import { createTenant, type System, type Tenant } from "./system/system.ts";
import { COLLECTOR_TOKEN, createTraceHelpers, describeSpans, startTracedSystem } from "./system/traces.ts";

describeWith("redis", "tracing", () => {
  let collector: Collector;
  let system: System;
  let tenant: Tenant;
  let headersFile: string;
  const resources = new AsyncDisposableStack();
  afterAll(() => resources.disposeAsync());
  beforeAll(async () => {
    // A test stops the collector and starts another on the same port. No outgoing connection takes the port in between, because freePort()
    // returns no ephemeral port.
    collector = await startCollector(await freePort());
    // Not `resources.adopt`, because a test assigns another collector to the variable.
    resources.defer(() => collector.close());
    const traced = await startTracedSystem(collector.url);
    resources.defer(() => traced.stop());
    ({ system, headersFile } = traced);
    tenant = await createTenant(system.admin);
  });

  const { createTenantWithFilledCaches, traceTurn } = createTraceHelpers(() => ({ system, collector }));

  describeWith("prometheus", "with Prometheus", () => {
    test("Prometheus stores llm-proxy's counters, and exemplars with a turn's trace id for llm-proxy's histograms", async () => {
      const prometheus = await startPrometheus({ targets: [{ service: "llm-proxy", opsPort: system.llm.opsPort }] });
      try {
        const { spans } = await traceTurn(await createTenantWithFilledCaches());
        for (const name of ["token_usage", "operation_duration_seconds", "operation_time_to_first_chunk_seconds"])
          await expect
            .poll(() => prometheus.exemplars(`gen_ai_client_${name}_bucket`), { timeout: 20_000 })
            .toContainEqual(expect.objectContaining({ trace_id: spans[0]?.traceId }));
        const counters = await prometheus.query('parley_llm_generations_total{outcome="complete"}');
        expect(Math.max(...counters.map(({ value }) => value))).toBeGreaterThan(0);
      } finally {
        await prometheus.stop();
      }
    });
  });

  test("sends the headers from a changed headers file, and keeps the previous headers if the file becomes unusable", async () => {
    const [edge] = system.edges;
    if (edge === undefined) throw new Error("there is no edge");
    const exportsNewTurnWith = async (token: string) => {
      const before = collector.headers.length;
      await traceTurn(tenant);
      return collector.headers.slice(before).some(({ authorization }) => authorization === `Bearer ${token}`);
    };
    await replaceFile(headersFile, "authorization=Bearer new-token-of-the-tests\n");
    await expect.poll(() => exportsNewTurnWith("new-token-of-the-tests"), { timeout: 30_000 }).toBe(true);
    await replaceFile(headersFile, "");
    const readRefusedReloads = () =>
      readMetric(edge, "parley_reloads_refused_total", { file: "OTEL_EXPORTER_OTLP_HEADERS" });
    await expect.poll(readRefusedReloads, { timeout: 20_000 }).toBeGreaterThan(0);
    expect(await exportsNewTurnWith("new-token-of-the-tests")).toBe(true);
    expect(edge.outputs()).not.toContain("new-token");
    await replaceFile(headersFile, `authorization=Bearer ${COLLECTOR_TOKEN}`);
  });

  test.runIf(isFullRun)(
    "a stopping edge exports its pending spans; while the collector is down, the edge logs the failure once, serves turns and stops within 15 s",
    async () => {
      const edge = system.edges[0];
      const countLines = (text: string) =>
        edge
          ?.outputs()
          .split("\n")
          .filter((line) => line.includes(text)).length;
      const port = Number(new URL(collector.url).port);
      await collector.close();
      for (let turn = 0; turn < 3; turn++) {
        expect((await chat(system.url(), tenant)).done?.finish_reason).toBe("stop");
        await expect.poll(() => countLines("trace export failed"), { timeout: 30_000 }).toBe(1);
      }
      // Spans are exported after 1 s, and an export fails after at most 5 s. So after 7 s the export of the last turn has failed too.
      await sleep(7_000);
      expect(countLines("trace export failed")).toBe(1);
      collector = await startCollector(port);
      await expect
        .poll(async () => (await chat(system.url(), tenant)) && countLines("trace export recovered"), {
          timeout: 30_000,
          interval: 500,
        })
        .toBe(1);
      await traceTurn(tenant);
      const { meta } = await chat(system.url(), tenant);
      await edge?.stop();
      const { turn } = await system.admin.turns.getTurn({
        workspaceId: tenant.workspaceId,
        messageId: BigInt(Number(meta?.message_id)),
      });
      expect(describeSpans(collector.traceOf(turn?.turnId ?? ""))).toContain("edge POST /api/chat/ < ");
      await edge?.start();
      await collector.close();
      await chat(system.url(), tenant);
      const startedAt = performance.now();
      await edge?.stop();
      expect(performance.now() - startedAt).toBeLessThan(15_000);
      expect(await edge?.process().exited).toMatchObject({ code: 0 });
      collector = await startCollector(port);
    },
  );
});
