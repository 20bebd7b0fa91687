import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { replaceFile, startRedis } from "@parley/test-support";
import { expect } from "vitest";
import { type ChatFields, chat, postChat, readChat } from "./chat.ts";
import type { CollectedSpan, Collector } from "./servers/collector.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system.ts";
import { TRUST_FORWARDED_FOR } from "./visitors.ts";

export const COLLECTOR_TOKEN = "collector-token-of-the-tests";
const CONVERSATION = "parley.conversation.v1.ConversationService";
/** The spans of every completed turn, in the format of describeSpans. */
export const TURN_SPANS = [
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

type TracedSystem = {
  system: System;
  /** The file from which the edge reads the HTTP headers that it sends to the collector. */
  headersFile: string;
  stop(): Promise<void>;
};

/** Starts a system with a Redis. The services export their spans to the collector. */
export async function startTracedSystem(collectorUrl: string): Promise<TracedSystem> {
  await using resources = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "parley-traces-"));
  resources.defer(() => rm(folder, { recursive: true }));
  const headersFile = join(folder, "OTEL_EXPORTER_OTLP_HEADERS");
  const redis = resources.adopt(await startRedis(), (started) => started.stop());
  const headers = `authorization=Bearer ${COLLECTOR_TOKEN}`;
  await replaceFile(headersFile, headers);
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl };
  const env = { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers };
  const edge = { ...TRUST_FORWARDED_FOR, ...endpoint, OTEL_EXPORTER_OTLP_HEADERS_FILE: headersFile };
  const system = await startSystem({
    redisUrl: redis.url,
    env: { edge, conversation: env, quota: env, "llm-proxy": env },
    llmConfig: (base_url) => ({
      default_model: "openai:default",
      providers: { openai: { base_url, api_key_env: "OPENAI_API_KEY", retries: { max_attempts: 1 } } },
      routes: { careful: ["openai:status-503", "openai:echo"] },
    }),
  });
  resources.defer(() => system.stop());
  const running = resources.move();
  return { system, headersFile, stop: () => running.disposeAsync() };
}

export function createTraceHelpers(get: () => { system: System; collector: Collector }) {
  /** Creates a tenant and runs a turn that fills the caches. For the next 4 s, traces of the tenant's turns have no spans of cache misses. */
  async function createTenantWithFilledCaches(): Promise<Tenant> {
    const { system } = get();
    const tenant = await createTenant(system.admin);
    await chat(system.url(), tenant);
    return tenant;
  }

  /** Runs a turn and waits until its trace is complete. */
  async function traceTurn(tracedTenant: Tenant, fields: ChatFields = {}, headers: Record<string, string> = {}) {
    const { system, collector } = get();
    const result = await readChat(await postChat(system.url(), tracedTenant, fields, { headers }));
    const { turn } = await system.admin.turns.getTurn({
      workspaceId: tracedTenant.workspaceId,
      messageId: BigInt(Number(result.meta?.message_id)),
    });
    const turnId = turn?.turnId ?? "";
    await expect
      // CloseTurn has a statement of its own for turns without a reply.
      .poll(
        () => describeSpans(collector.traceOf(turnId)).map((span) => span.replace("close_refused_turn", "close_turn")),
        { timeout: 20_000 },
      )
      .toEqual(expect.arrayContaining(TURN_SPANS));
    return { turnId, result, spans: collector.traceOf(turnId) };
  }

  return { createTenantWithFilledCaches, traceTurn };
}

/** Formats each span as `SERVICE SPAN_NAME < PARENT_SPAN_NAME`. */
export function describeSpans(spans: readonly CollectedSpan[]): string[] {
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  return spans.map(({ service, name, parentId }) => {
    const parent = parentId === "" ? "" : (names.get(parentId) ?? "(missing)");
    return `${service} ${name} < ${parent}`;
  });
}
