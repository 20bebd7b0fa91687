import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeWith, freePort, replaceFile, startRedis, type TestRedis } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChatFields, chat, postChat, readChat } from "./system/chat.ts";
import { readMetric } from "./system/metrics.ts";
import { ADMIN_TOKEN, INTERNAL_TOKEN, SERVICE_ROLE_PASSWORD } from "./system/processes.ts";
import { type CollectedSpan, type Collector, startCollector } from "./system/servers/collector.ts";
import { startPrometheus } from "./system/servers/prometheus.ts";
import { createTenant, PROVIDER_KEY, type System, startSystem, type Tenant } from "./system/system.ts";
import { newClientAddress, TRUST_FORWARDED_FOR } from "./system/visitors.ts";

const COLLECTOR_TOKEN = "collector-token-of-the-tests";
const CONVERSATION = "parley.conversation.v1.ConversationService";
/** The spans of every completed turn: service, name and parent's name. */
const TURN_SPANS = [
  "edge POST /api/chat/ < ",
  `edge ${CONVERSATION}/OpenTurn < POST /api/chat/`,
  `conversation ${CONVERSATION}/OpenTurn < ${CONVERSATION}/OpenTurn`,
  `conversation open_turn < ${CONVERSATION}/OpenTurn`,
  "edge parley.quota.v1.QuotaService/Reserve < POST /api/chat/",
  "quota parley.quota.v1.QuotaService/Reserve < parley.quota.v1.QuotaService/Reserve",
  "quota reserve < parley.quota.v1.QuotaService/Reserve",
  "edge parley.llm.v1.LlmService/Generate < POST /api/chat/",
  "llm-proxy parley.llm.v1.LlmService/Generate < parley.llm.v1.LlmService/Generate",
  `edge ${CONVERSATION}/CloseTurn < POST /api/chat/`,
  `conversation ${CONVERSATION}/CloseTurn < ${CONVERSATION}/CloseTurn`,
  `conversation close_turn < ${CONVERSATION}/CloseTurn`,
  `conversation settle < ${CONVERSATION}/CloseTurn`,
  "edge sliding_window < POST /api/chat/",
];

describeWith("redis", "tracing", () => {
  let collector: Collector;
  let redis: TestRedis;
  let system: System;
  let tenant: Tenant;
  let folder: string;
  const headersFile = () => join(folder, "OTEL_EXPORTER_OTLP_HEADERS");

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "parley-traces-"));
    // A test restarts the collector on the same port. An outgoing connection must not take the port in between, so it must not be ephemeral.
    [collector, redis] = [await startCollector(await freePort()), await startRedis()];
    const headers = `authorization=Bearer ${COLLECTOR_TOKEN}`;
    await replaceFile(headersFile(), headers);
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
    const env = { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers };
    const edge = { ...TRUST_FORWARDED_FOR, ...endpoint, OTEL_EXPORTER_OTLP_HEADERS_FILE: headersFile() };
    system = await startSystem({
      redisUrl: redis.url,
      env: { edge, conversation: env, quota: env, "llm-proxy": env },
      llmConfig: (base_url) => ({
        default_model: "openai:default",
        providers: { openai: { base_url, api_key_env: "OPENAI_API_KEY", retries: { max_attempts: 1 } } },
        routes: { careful: ["openai:status-503", "openai:echo"] },
      }),
    });
    tenant = await createTenant(system.admin);
  });
  afterAll(async () => {
    await system?.stop();
    await redis.stop();
    await collector.close();
    await rm(folder, { recursive: true });
  });

  /** Creates a tenant and runs its first turn, which has additional spans: it fills caches. Later turns use the caches for 4 s. */
  async function createCachedTenant(): Promise<Tenant> {
    const cached = await createTenant(system.admin);
    await chat(system.url(), cached);
    return cached;
  }

  /** Sends a message and waits until its trace is complete. */
  async function traceTurn(tracedTenant: Tenant, fields: ChatFields = {}, headers: Record<string, string> = {}) {
    const result = await readChat(await postChat(system.url(), tracedTenant, fields, { headers }));
    const { turn } = await system.admin.turns.getTurn({
      workspaceId: tracedTenant.workspaceId,
      messageId: BigInt(Number(result.meta?.message_id)),
    });
    const turnId = turn?.turnId ?? "";
    await expect
      .poll(() => describeSpans(collector.traceOf(turnId)), { timeout: 20_000 })
      .toEqual(expect.arrayContaining(TURN_SPANS));
    return { turnId, result, spans: collector.traceOf(turnId) };
  }

  test("records a turn as one trace across the four services, with each span under its caller", async () => {
    const foreignParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const cached = await createCachedTenant();
    const { turnId, result, spans } = await traceTurn(cached, {}, { traceparent: foreignParent });
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(spans[0]?.traceId).not.toBe("0af7651916cd43dd8448eb211c80319c");
    expect(new Set(spans.map(({ service }) => service))).toEqual(
      new Set(["edge", "conversation", "quota", "llm-proxy"]),
    );
    const expected = [...TURN_SPANS, "llm-proxy chat default < parley.llm.v1.LlmService/Generate"];
    expect(describeSpans(spans)).toEqual(expect.arrayContaining(expected));
    expect(spans).toHaveLength(expected.length);
    for (const span of spans) {
      expect(span.hasFailed, span.name).toBe(false);
      expect(span.endNs >= span.startNs, span.name).toBe(true);
    }
    // Kind 2 is a server span, and kind 3 a client span.
    const byName = (name: string, kind: number) => spans.find((each) => each.name === name && each.kind === kind);
    expect(byName("POST /api/chat/", 2)?.attributes).toEqual({
      "http.request.method": "POST",
      "http.route": "/api/chat/",
      "http.response.status_code": 200,
      "parley.turn_id": turnId,
      "parley.workspace_id": cached.workspaceId,
    });
    expect(byName("chat default", 3)?.attributes).toEqual({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.system": "openai",
      "gen_ai.request.model": "default",
      "gen_ai.usage.input_tokens": 21,
      "gen_ai.usage.output_tokens": 34,
      "gen_ai.response.finish_reasons": ["stop"],
      "server.address": "127.0.0.1",
      "parley.turn_id": turnId,
    });
    expect(result.done?.finish_reason).toBe("stop");
    // The turn's log line contains the trace id.
    const logLine =
      system.edges[0]
        ?.outputs()
        .split("\n")
        .find((line) => line.includes(turnId)) ?? "{}";
    expect(JSON.parse(logLine)).toMatchObject({
      trace_id: spans[0]?.traceId,
      span_id: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    for (const header of collector.headers) expect(header.authorization).toBe(`Bearer ${COLLECTOR_TOKEN}`);
  });

  test("adds exemplars to the metrics in OpenMetrics' format, which have the same names as in Prometheus' format", async () => {
    await traceTurn(await createCachedTenant());
    const scrape = async (accept: string) => {
      const response = await fetch(`http://127.0.0.1:${system.llm.opsPort}/metrics`, { headers: { accept } });
      return { type: response.headers.get("content-type"), text: await response.text() };
    };
    const plain = await scrape("text/plain");
    const openMetrics = await scrape("application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
    expect(plain.type).toContain("text/plain");
    expect(openMetrics.type).toContain("application/openmetrics-text");
    const namesOf = ({ text }: { text: string }) => [...new Set(text.match(/^[a-z]\w+/gm))].sort();
    expect(namesOf(openMetrics)).toEqual(namesOf(plain));
    expect(openMetrics.text).toMatch(/^gen_ai_client_token_usage_bucket\{.+\} \d+ # \{trace_id="[0-9a-f]{32}"/m);
    expect(plain.text).not.toContain("trace_id");
  });

  describeWith("prometheus", "with Prometheus", () => {
    test("stores the trace id of a turn in the exemplars of its metrics", async () => {
      const prometheus = await startPrometheus({ targets: [{ service: "llm-proxy", opsPort: system.llm.opsPort }] });
      try {
        const { spans } = await traceTurn(await createCachedTenant());
        for (const name of ["token_usage", "operation_duration_seconds", "operation_time_to_first_chunk_seconds"])
          await expect
            .poll(() => prometheus.exemplars(`gen_ai_client_${name}_bucket`), { timeout: 20_000 })
            .toContainEqual(expect.objectContaining({ trace_id: spans[0]?.traceId }));
        const counters = await prometheus.query('parley_llm_generations_total{outcome="complete"}');
        expect(counters[0]?.value).toBeGreaterThan(0);
      } finally {
        await prometheus.stop();
      }
    });
  });

  test("records one trace for each concurrent turn, and none for background work", async () => {
    const cached = await createCachedTenant();
    const traced = await Promise.all(Array.from({ length: 20 }, () => traceTurn(cached)));
    for (const { spans } of traced) {
      expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
      expect(spans).toHaveLength(TURN_SPANS.length + 1);
      // Each span has the id of this turn or none.
      expect(new Set(spans.map(({ attributes }) => attributes["parley.turn_id"] ?? "")).size).toBe(2);
    }
    const roots = collector.spans.filter(({ parentId }) => parentId === "");
    expect(new Set(roots.map(({ name }) => name))).toEqual(new Set(["POST /api/chat/"]));
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(roots.length);
  });

  test("records each tool call as a span with its error and without its arguments", async () => {
    const equipped = await createTenant(system.admin);
    const { workspaceId, botSlug } = equipped;
    const parameters = JSON.stringify({ type: "object", properties: { id: { type: "string" } }, required: ["id"] });
    const value = { description: "Finds an order.", method: "GET", url: "http://127.0.0.1:65000/{id}", parameters };
    await system.admin.tools.putTool({ workspaceId, botSlug, tool: { name: "order", kind: { case: "http", value } } });
    const firstIndex = system.provider.requests.length;
    system.provider.script((_, index) =>
      index === firstIndex ? { toolCalls: [{ name: "order", arguments: '{"id":"of-the-visitor"}' }] } : undefined,
    );
    const { spans } = await traceTurn(equipped);
    expect(spans.filter(({ name }) => name === "chat default")).toHaveLength(2);
    const [call] = spans.filter(({ name }) => name.startsWith("execute_tool"));
    expect(call).toMatchObject({ name: "execute_tool order", service: "llm-proxy", hasFailed: true });
    expect(call?.attributes).toMatchObject({ "gen_ai.tool.name": "order", "error.type": "not_allowed" });
    expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain("of-the-visitor");
  });

  test("records each attempt as a span, and a failed attempt with its error", async () => {
    const careful = await createTenant(system.admin, { model: "route:careful" });
    const { spans } = await traceTurn(careful);
    const attempts = spans.filter(({ name }) => name.startsWith("chat "));
    expect(attempts.map(({ name, hasFailed, attributes }) => [name, hasFailed, attributes["error.type"]])).toEqual([
      ["chat status-503", true, "http_503"],
      ["chat echo", false, undefined],
    ]);
  });

  test("exports no message, reply, session id, key, token, password or client address", async () => {
    const mark = (what: string) => `marker-${what}-${randomUUID()}`;
    const marks = [mark("message"), mark("visitor"), mark("metadata"), mark("referrer"), mark("agent")];
    const [message, visitor_id, note, referer, agent] = marks;
    const address = newClientAddress();
    const echo = await createTenant(system.admin, { model: "openai:echo" });
    const { result } = await traceTurn(
      echo,
      { message, visitor_id, visitor_metadata: { note } },
      { referer: `https://a.example/${referer}`, "user-agent": agent ?? "", "x-forwarded-for": address },
    );
    expect(result.text).toContain(message);
    await traceTurn(await createTenant(system.admin, { model: "openai:status-401" }), { message });
    const secrets = [
      ...marks,
      address,
      echo.publicKey,
      tenant.publicKey,
      PROVIDER_KEY,
      INTERNAL_TOKEN,
      ADMIN_TOKEN,
      SERVICE_ROLE_PASSWORD,
      String(result.meta?.session_id),
    ];
    const sent = Buffer.concat(collector.bodies).toString("latin1");
    expect(sent).toContain("gen_ai.request.model");
    for (const secret of secrets) expect(sent.includes(secret), secret).toBe(false);
  });

  test("sends the headers of a changed file, and the previous headers if the file becomes unusable", async () => {
    const [edge] = system.edges;
    if (edge === undefined) throw new Error("there is no edge");
    const sentWith = async (token: string) => {
      const before = collector.headers.length;
      await traceTurn(tenant);
      return collector.headers.slice(before).some(({ authorization }) => authorization === `Bearer ${token}`);
    };
    await replaceFile(headersFile(), "authorization=Bearer new-token-of-the-tests\n");
    await expect.poll(() => sentWith("new-token-of-the-tests"), { timeout: 30_000 }).toBe(true);
    await replaceFile(headersFile(), "");
    const refused = () => readMetric(edge, "parley_reloads_refused_total", { file: "OTEL_EXPORTER_OTLP_HEADERS" });
    await expect.poll(refused, { timeout: 20_000 }).toBeGreaterThan(0);
    expect(await sentWith("new-token-of-the-tests")).toBe(true);
    expect(edge.outputs()).not.toContain("new-token");
    await replaceFile(headersFile(), `authorization=Bearer ${COLLECTOR_TOKEN}`);
  });

  test("logs one line and serves turns while the collector is down, and a stopping service exports its pending spans or exits within 15 s", async () => {
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
    collector = await startCollector(port);
    await expect
      .poll(async () => (await chat(system.url(), tenant)) && countLines("trace export recovered"), {
        timeout: 30_000,
        interval: 500,
      })
      .toBe(1);
    await traceTurn(tenant);
    // A service exports its pending spans when it stops. If the collector is down, it still exits within 15 s.
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
  });
});

/** Formats each span as its service, its name and its parent's name. */
function describeSpans(spans: readonly CollectedSpan[]): string[] {
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  return spans.map(({ service, name, parentId }) => {
    const parent = parentId === "" ? "" : (names.get(parentId) ?? "(missing)");
    return `${service} ${name} < ${parent}`;
  });
}
