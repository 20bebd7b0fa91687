import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { createClient as createAdminClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { createClient, GrpcTransport, openChannel, type RpcClient } from "@parley/rpc";
import {
  AuditLogAdminService,
  CallLogAdminService,
  type EmbedResponse,
  type GenerateEnd,
  type GenerateResponse,
  GenerateStatus,
  LlmService,
  type ModelSettingsSchema,
  PromptSchema,
  ProviderAdminService,
  Role,
  type ToolCall,
  type TurnCost,
} from "@parley/rpc/llm";
import { createLogger, createServiceMetrics, type Database, Lifecycle, openDatabase } from "@parley/service-kit";
import { migrate } from "@parley/service-kit/migrations";
import { createDatabase, freePorts } from "@parley/test-support";
import { migrations } from "../../migrations/index.ts";
import { type CallRow, listCalls } from "../call-log/calls.store.ts";
import { readConfig } from "../config.ts";
import { start } from "../server.ts";

const TOKEN = "test-token";
const PASSWORD = "test-password";
const log = createLogger("test", "silent");

/** The messages that a test received from a generation's stream. */
export type Events = {
  /** The text of each delta, in order. */
  texts: string[];
  text: string;
  toolCalls: ToolCall[];
  end: GenerateEnd;
};

export type GenerateOptions = {
  model?: string;
  message?: string;
  prompt?: MessageInitShape<typeof PromptSchema>;
  workspaceId?: string;
  turnId?: string;
  month?: string;
  signal?: AbortSignal;
  onText?: (text: string) => void;
  onFinish?: () => void;
};

export type TestProxy = {
  generate(options?: GenerateOptions): Promise<Events>;
  openStream(options?: GenerateOptions): AsyncIterable<GenerateResponse>;
  generateWithWrongToken(): Promise<Events>;
  /** Returns the reason to refuse the settings, or "". */
  checkModelSettings(model: string, settings: MessageInitShape<typeof ModelSettingsSchema>): Promise<string>;
  listTurnCosts(workspaceId: string, turnIds: string[]): Promise<TurnCost[]>;
  embed(texts: string[], options?: { timeoutMs?: number; workspaceId?: string }): Promise<EmbedResponse>;
  admin: ReturnType<typeof adminClients>;
  database: Database;
  /** Connects with the service's role. */
  databaseUrl: string;
  opsUrl: string;
  /** Waits until the call log has at least `count` rows of a turn, by default one, and returns them. */
  rowsOf(workspaceId: string, turnId: string, count?: number): Promise<CallRow[]>;
  /** Returns the current value of a metric series such as `name{label="value"}`; undefined if the series does not exist. */
  metric(series: string): Promise<number | undefined>;
  writeConfig(yaml: string): void;
  /** Stops the service as SIGTERM does. */
  close(): Promise<void>;
  drop(): Promise<void>;
};

/** `config` is the YAML text of the file that LLM_CONFIG names; without it, LLM_CONFIG is not set. */
export async function startTestProxy(
  options: { config?: string; environment?: Record<string, string> } = {},
): Promise<TestProxy> {
  const testDatabase = await createDatabase();
  const role = `parley_llm_${testDatabase.name}`;
  await migrate({ url: testDatabase.url, schema: "llm", role, rolePassword: PASSWORD, migrations });
  const url = new URL(testDatabase.url);
  [url.username, url.password] = [role, PASSWORD];
  const [grpcPort = 0, opsPort = 0] = await freePorts(2);
  const folder = mkdtempSync(join(tmpdir(), "llm-proxy-"));
  const configPath = join(folder, "llm.yaml");
  if (options.config !== undefined) writeFileSync(configPath, options.config);
  const config = readConfig({
    GRPC_PORT: String(grpcPort),
    OPS_PORT: String(opsPort),
    DATABASE_URL: url.href,
    INTERNAL_TOKEN: TOKEN,
    ADMIN_TOKEN: TOKEN,
    DRAIN_MS: "2000",
    ...(options.config !== undefined && { LLM_CONFIG: configPath }),
    ...options.environment,
  });
  const lifecycle = new Lifecycle(log);
  await start(config, log, lifecycle, createServiceMetrics("llm-proxy"));
  const channel = openChannel({ target: `127.0.0.1:${grpcPort}`, retryable: [] });
  const clientWith = (token: string) =>
    createClient(
      LlmService,
      new GrpcTransport(channel, (metadata) => metadata.set("authorization", `Bearer ${token}`)),
    );
  const [client, clientWithWrongToken] = [clientWith(TOKEN), clientWith("other")];
  const database = openDatabase({ url: testDatabase.url, applicationName: "test", maxConnections: 2 }, log);
  const opsUrl = `http://127.0.0.1:${opsPort}`;
  return {
    database,
    databaseUrl: url.href,
    opsUrl,
    admin: adminClients(opsUrl),
    generate: (options) => generate(client, options),
    openStream: (options) => openStream(client, options),
    generateWithWrongToken: () => generate(clientWithWrongToken),
    checkModelSettings: async (model, settings) =>
      (await client.checkModelSettings({ model, settings }, { timeoutMs: 15_000 })).problem,
    listTurnCosts: async (workspaceId, turnIds) =>
      (await client.listTurnCosts({ workspaceId, turnIds }, { timeoutMs: 15_000 })).costs,
    embed: (texts, { timeoutMs = 15_000, workspaceId = "ws_test" } = {}) =>
      client.embed({ workspaceId, texts }, { timeoutMs }),
    async rowsOf(workspaceId, turnId, count = 1) {
      return eventually(
        () => listCalls(database, workspaceId, turnId),
        (rows) => rows.length >= count,
      );
    },
    async metric(series) {
      const page = await (await fetch(`${opsUrl}/metrics`)).text();
      const line = page.split("\n").find((each) => each.startsWith(`${series} `));
      return line === undefined ? undefined : Number(line.slice(series.length + 1));
    },
    writeConfig: (yaml) => writeFileSync(configPath, yaml),
    close: async () => void (await lifecycle.close()),
    async drop() {
      channel.close();
      await lifecycle.close();
      await database.end();
      await testDatabase.drop();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Polls until the value is expected, and returns it. Throws after twenty seconds. */
export async function eventually<T>(poll: () => Promise<T> | T, isExpected: (value: T) => boolean): Promise<T> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const value = await poll();
    if (isExpected(value)) return value;
    if (performance.now() > deadline) throw new Error(`still ${JSON.stringify(value)} after twenty seconds`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function adminClients(baseUrl: string) {
  const transport = createConnectTransport({
    baseUrl,
    httpVersion: "1.1",
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${TOKEN}`);
        return next(request);
      },
    ],
  });
  return {
    providers: createAdminClient(ProviderAdminService, transport),
    calls: createAdminClient(CallLogAdminService, transport),
    auditLog: createAdminClient(AuditLogAdminService, transport),
  };
}

type LlmClient = RpcClient<typeof LlmService>;

function openStream(client: LlmClient, options: GenerateOptions = {}) {
  const { message = "Hello?", prompt = { messages: [{ role: Role.USER, content: message }] } } = options;
  const request = {
    workspaceId: options.workspaceId ?? "ws_test",
    turnId: options.turnId ?? randomUUID(),
    model: options.model ?? "",
    month: options.month ?? "",
    prompt: toBinary(PromptSchema, create(PromptSchema, prompt)),
  };
  return client.generate(request, { timeoutMs: 15_000, ...(options.signal && { signal: options.signal }) });
}

/**
 * Runs a generation and returns its messages. Throws unless the stream has one `end`, as its last message. Throws if a complete
 * generation has no `finish`, or if a generation with another status has a `finish`.
 */
async function generate(client: LlmClient, options: GenerateOptions = {}): Promise<Events> {
  const texts: string[] = [];
  let end: GenerateEnd | undefined;
  const toolCalls: ToolCall[] = [];
  let isFinished = false;
  for await (const { event } of openStream(client, options)) {
    if (isFinished && event.case !== "end") throw new Error(`${event.case} after the finish`);
    if (event.case === "finish") {
      isFinished = true;
      options.onFinish?.();
    }
    if (end !== undefined) throw new Error(`${event.case} after the end`);
    if (event.case === "end") end = event.value;
    if (event.case === "toolCall") toolCalls.push(event.value);
    if (event.case === "delta") {
      texts.push(event.value.text);
      options.onText?.(event.value.text);
    }
  }
  if (end === undefined) throw new Error("stream without an end");
  if (isFinished !== (end.status === GenerateStatus.COMPLETE))
    throw new Error(`${GenerateStatus[end.status]} generation ${isFinished ? "with" : "without"} a finish`);
  return { texts, text: texts.join(""), end, toolCalls };
}

/** The status's name is easier to read in a failed test than its number. */
export function statusOf({ end }: Events): string {
  return GenerateStatus[end.status];
}
