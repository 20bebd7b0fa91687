import { randomUUID } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { createClient, GrpcTransport, openChannel } from "@parley/rpc";
import { LlmService, PromptSchema, Role } from "@parley/rpc/llm";
import { createDatabase, type FakeProvider, startFakeProvider, type TestDatabase } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { environment, startScript, TOKEN } from "./testing/process.ts";

let database: TestDatabase;
let provider: FakeProvider;
beforeAll(async () => {
  [database, provider] = await Promise.all([createDatabase(), startFakeProvider()]);
});
afterAll(async () => {
  await provider.close();
  await database.drop();
});

describe("migrate", () => {
  test("prints only the migrations that it applied", async () => {
    const env = { DATABASE_URL: database.url, DATABASE_PASSWORD: "llm-test", DATABASE_ROLES_SHARED: "on" };
    const first = await startScript("migrate.ts", env);
    expect((await first.exited).code).toBe(0);
    expect(first.stdout()).toContain("0001_baseline");
    const second = await startScript("migrate.ts", env);
    expect((await second.exited).code).toBe(0);
    expect(second.stdout()).not.toContain("0001_baseline");
  });
});

describe("the service's log", () => {
  test.each(["info", "debug"])(
    "contains no key, prompt or reply, and a provider's error without them, at level %s",
    async (level) => {
      const secrets = {
        key: "sk-SECRETKEY123",
        prompt: "PROMPTMARKER what is wrong with me",
        system: "SYSTEMMARKER",
        reply: "REPLYMARKER",
        error: "ERRORMARKER sk-SECRETKEY123 refused for PROMPTMARKER",
      };
      const env = {
        ...(await environment(database)),
        OPENAI_BASE_URL: provider.url,
        OPENAI_API_KEY: secrets.key,
        LOG_LEVEL: level,
      };
      const service = await startScript("main.ts", { ...env, DEFAULT_MODEL: "openai:default" }, /"started"/);
      await service.waitReady();
      const errorBody = (code: unknown) =>
        JSON.stringify({ error: { message: secrets.error, code, type: secrets.key } });
      provider.script([
        { status: 401, body: errorBody(secrets.key) },
        { status: 400, body: errorBody("context_length_exceeded") },
        { body: `data: ${errorBody(secrets.error)}\n\n`, headers: { "content-type": "text/event-stream" } },
        { tokens: [secrets.reply], fault: "cut", afterTokens: 1 },
        { tokens: [secrets.reply] },
      ]);
      const channel = openChannel({ target: `127.0.0.1:${env.GRPC_PORT}`, retryable: [] });
      const client = createClient(
        LlmService,
        new GrpcTransport(channel, (metadata) => metadata.set("authorization", `Bearer ${TOKEN}`)),
      );
      const prompt = create(PromptSchema, {
        system: secrets.system,
        messages: [{ role: Role.USER, content: secrets.prompt }],
      });
      const request = { workspaceId: "w", turnId: randomUUID(), model: "", prompt: toBinary(PromptSchema, prompt) };
      const events: string[] = [];
      for (let call = 0; call < 5; call++) {
        for await (const { event } of client.generate(request, { timeoutMs: 10_000 })) {
          events.push(event.case === "delta" ? event.value.text : JSON.stringify(event.value));
        }
      }
      channel.close();
      expect(events.join()).not.toMatch(/ERRORMARKER|SECRETKEY/);
      expect(await service.stop()).toEqual({ code: 0, signal: null });
      const output = service.output();
      expect(output).toContain("attempt failed");
      expect(output).toContain(
        '"provider_status":400,"provider_code":"context_length_exceeded","provider_message":"ERRORMARKER',
      );
      expect(output).not.toMatch(/(PROMPT|SYSTEM|REPLY)MARKER|SECRETKEY|test-token/);
    },
  );
});

describe("a start", () => {
  test("with a missing token prints the problems and exits 1", async () => {
    const service = await startScript("main.ts", { ...(await environment(database)), INTERNAL_TOKEN: "" });
    expect((await service.exited).code).toBe(1);
    expect(service.output()).toMatch(/INTERNAL_TOKEN is not set/);
  });
});
