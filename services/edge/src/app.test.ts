import { createLogger, createRegistry } from "@parley/service-kit";
import { beforeAll, expect, test } from "vitest";
import { type AppDeps, buildApp } from "./app.ts";
import { createMetrics } from "./metrics.ts";

type Json = { [key: string]: Json | undefined };

const registry = createRegistry("edge");
let text: string;
let document: Json;

beforeAll(async () => {
  const deps = {
    malformedRequests: { refuseOverLimit: (_request: unknown, _reply: unknown, done: () => void) => done() },
    httpMetrics: createMetrics(registry, { jwksAgeSeconds: () => 0 }).http,
    isStopping: () => false,
  } as unknown as AppDeps;
  const app = await buildApp(deps, { trustedProxies: [], widgetDir: undefined }, createLogger("edge", "silent"));
  text = (await app.inject("/openapi.json")).body;
  document = JSON.parse(text) as Json;
  await app.close();
});

test("the OpenAPI document describes every endpoint except the files of the widget", () => {
  const expected = [
    "/api/chat/",
    "/api/chat/challenge/",
    "/api/chat/contact/",
    "/api/chat/handoff/",
    "/api/chat/live/",
    "/api/chat/playground/",
    "/api/chat/playground/stop/",
    "/api/chat/rating/",
    "/api/chat/sessions/",
    "/api/chat/sessions/{session_id}/messages/",
    "/api/chat/stop/",
    "/api/conversations/",
    "/api/conversations/erase/",
    "/api/conversations/export.csv",
    "/api/conversations/export.ndjson",
    "/api/conversations/{session_id}/",
    "/api/conversations/{session_id}/export.json",
    "/api/conversations/{session_id}/handoff/",
    "/api/conversations/{session_id}/messages/",
    "/api/conversations/{session_id}/notes/",
    "/api/doctor/",
    "/api/handoffs/",
    "/api/handoffs/live/",
    "/api/widget/config/",
    "/healthz/live",
    "/healthz/ready",
    "/openapi.json",
  ];
  expect(new Set(Object.keys(document.paths ?? {}))).toEqual(new Set(expected));
});

test("each reference of the OpenAPI document has a target, and each operation an id of its own", () => {
  for (const [, pointer = ""] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = pointer.split("/").reduce<Json | undefined>((value, key) => value?.[key], document);
    expect(target, pointer).toBeDefined();
  }
  const ids = [...text.matchAll(/"operationId":"([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(text).not.toContain("x-header");
});

test("the OpenAPI document keeps the limits and types of the validated fields", () => {
  const { ChatRequest, PlaygroundStopRequest } = document.components?.schemas ?? {};
  expect(ChatRequest).toMatchObject({
    required: ["public_key", "session_id", "message"],
    properties: { message: { type: "string", maxLength: 4_000 }, visitor_metadata: { type: "object" } },
  });
  expect(PlaygroundStopRequest?.properties?.session_id).toMatchObject({ type: "string", format: "uuid" });
  const parameters = (document.paths?.["/api/conversations/"]?.get?.parameters ?? []) as unknown as Json[];
  expect(parameters.find(({ name }) => String(name) === "limit")).toMatchObject({
    in: "query",
    required: false,
    schema: { type: "integer", minimum: 1, maximum: 100, default: 20 },
  });
});

test("every documented refusal has a series from the start", async () => {
  const page = await registry.metrics();
  for (const labels of [
    'route="/api/chat/",code="rate_limited"',
    'route="/api/chat/",code="origin_not_allowed"',
    'route="/api/chat/",code="challenge_required"',
    'route="/api/chat/",code="headers_too_large"',
    'route="/api/widget/config/",code="invalid_api_key"',
    'route="/api/conversations/:session_id/export.json",code="no_workspace"',
  ])
    expect(page).toContain(`parley_requests_refused_total{${labels},service="edge"} 0`);
});
