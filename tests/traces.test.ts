import { randomUUID } from "node:crypto";
import { describeWith } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ADMIN_TOKEN, INTERNAL_TOKEN, SERVICE_ROLE_PASSWORD } from "./system/processes.ts";
import { type Collector, startCollector } from "./system/servers/collector.ts";
import { createTenant, PROVIDER_KEY, type System, type Tenant } from "./system/system.ts";
import { COLLECTOR_TOKEN, createTraceHelpers, describeSpans, startTracedSystem, TURN_SPANS } from "./system/traces.ts";
import { newClientAddress } from "./system/visitors.ts";

describeWith("redis", "tracing", () => {
  let collector: Collector;
  let system: System;
  let tenant: Tenant;
  const resources = new AsyncDisposableStack();
  afterAll(() => resources.disposeAsync());
  beforeAll(async () => {
    collector = await startCollector();
    resources.defer(() => collector.close());
    const traced = await startTracedSystem(collector.url);
    resources.defer(() => traced.stop());
    ({ system } = traced);
    tenant = await createTenant(system.admin);
  });

  const { createTenantWithFilledCaches, traceTurn } = createTraceHelpers(() => ({ system, collector }));

  test("records a turn as one trace across the four services, with each span as a child of its caller's span", async () => {
    const foreignParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const cachedTenant = await createTenantWithFilledCaches();
    const { turnId, result, spans } = await traceTurn(cachedTenant, {}, { traceparent: foreignParent });
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
      "parley.request_id": turnId,
      "parley.turn_id": turnId,
      "parley.workspace_id": cachedTenant.workspaceId,
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

  test("adds exemplars only in OpenMetrics' format, in which the metrics have the same names as in Prometheus' format", async () => {
    await traceTurn(await createTenantWithFilledCaches());
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

  test("records one trace for each concurrent turn, and none for background work", async () => {
    const cachedTenant = await createTenantWithFilledCaches();
    const traced = await Promise.all(Array.from({ length: 20 }, () => traceTurn(cachedTenant)));
    for (const { spans } of traced) {
      expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
      expect(spans).toHaveLength(TURN_SPANS.length + 1);
      // Each span has the id of this turn or no turn id.
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
    expect(call?.attributes).toMatchObject({ "gen_ai.tool.name": "order", "error.type": "failed" });
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
    const sessionId = randomUUID();
    const echo = await createTenant(system.admin, { model: "openai:echo" });
    const { result } = await traceTurn(
      echo,
      { session_id: sessionId, message, visitor_id, visitor_metadata: { note } },
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
      sessionId,
    ];
    const sent = Buffer.concat(collector.bodies).toString("latin1");
    expect(sent).toContain("gen_ai.request.model");
    for (const secret of secrets) expect(sent.includes(secret), secret).toBe(false);
  });
});
