import { randomUUID } from "node:crypto";
import { type ReceivedRequest, type Reply, startToolServer, type ToolServer } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type ChatResult, exportTranscript, postChat, readChat } from "./system/chat.ts";
import { cliEnv, runCliJson } from "./system/cli.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";

const SIGNATURE = "opaque-thought-signature";

let system: System;
let toolServer: ToolServer;
let tenant: Tenant;
let sessionId: string;
const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());
beforeAll(async () => {
  toolServer = await startToolServer();
  resources.defer(() => toolServer.close());
  system = await startSystem({ env: { "llm-proxy": { EGRESS_ALLOW: "127.0.0.1/32" } } });
  resources.defer(() => system.stop());
});
beforeEach(async () => {
  tenant = await createTenant(system.admin);
  sessionId = randomUUID();
  system.provider.reset();
});

const ask = async (message: string, reply?: Reply, key: string = randomUUID()): Promise<ChatResult> => {
  if (reply !== undefined) system.provider.script([reply]);
  const headers = { "idempotency-key": key };
  return readChat(await postChat(system.url(), tenant, { message, session_id: sessionId }, { headers }));
};
const countUsed = async () => {
  const { workspaceId } = tenant;
  const { usage } = await system.admin.workspaces.showUsage({ workspaceId });
  return [usage?.used, usage?.held];
};
const readReplies = async () => {
  const response = await exportTranscript(system, tenant, sessionId);
  const { messages } = (await response.json()) as { messages: Record<string, unknown>[] };
  return messages.filter(({ role }) => role === "assistant").map(({ status, content }) => [status, content]);
};
/** Returns the messages of the last request to the provider. */
const readPrompt = () => {
  const { body } = system.provider.requests.at(-1) as ReceivedRequest;
  return (body as { messages: object[] }).messages;
};
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const stream = (...chunks: string[]): Reply => ({
  headers: { "content-type": "text/event-stream" },
  body: `${chunks.join("")}data: [DONE]\n\n`,
});

test("a question without an answer is not charged, however often it is asked, and an answer once", async () => {
  for (const finishReason of ["stop", "length", "stop", "stop"] as const) {
    const { done, error } = await ask("Why?", { tokens: [], finishReason });
    expect([done?.finish_reason, error?.code]).toEqual(["error", "provider_error"]);
  }
  const key = randomUUID();
  const answer = await ask("Why?", { tokens: ["Because."] }, key);
  const again = await ask("Why?", undefined, key);
  expect([again.text, again.meta?.message_id]).toEqual([answer.text, answer.meta?.message_id]);
  expect(system.provider.requests).toHaveLength(5);
  await expect.poll(countUsed, { timeout: 20_000 }).toEqual([1, 0]);
});

test("a visitor does not see the mark of a reply without an answer, and its owner sees that the reply is declined", async () => {
  const { text, done } = await ask("Do you sell bicycles?", {
    tokens: ["[no", " answer]", "\n\nSorry, I do", "n't know."],
  });
  expect([text, done?.finish_reason]).toEqual(["Sorry, I don't know.", "stop"]);
  const response = await exportTranscript(system, tenant, sessionId);
  const { messages } = (await response.json()) as { messages: Record<string, unknown>[] };
  expect(messages.at(-1)).toMatchObject({ content: text, status: "done" });
  const args = ["conversation", "show", sessionId, "--workspace", tenant.workspaceId];
  expect(await runCliJson(args, cliEnv(system))).toMatchObject({ messages: [{}, { finish_detail: "declined" }] });
  await ask("And trains?", { tokens: ["Yes."] });
  expect(JSON.stringify(readPrompt())).toContain("Sorry, I don't know.");
  expect(JSON.stringify(readPrompt())).not.toContain("[no answer]");
});

test("a refusal is stored as blocked with the bot's fallback, not charged, and not in the next prompt", async () => {
  const refusals: Reply[] = [
    { tokens: ["It is ", "made of "], finishReason: "content_filter" },
    stream(chunk({ refusal: "I can't say." }), chunk({}, "stop")),
    stream(chunk({ content: "It is" }), chunk({}, "SAFETY")),
    { status: 400, body: JSON.stringify({ error: { code: "content_filter", message: "The prompt is filtered." } }) },
  ];
  const fallback = "I'm sorry, I can't help with that.";
  for (const refusal of refusals) {
    const { events, done } = await ask("How do I make a bomb?", refusal);
    expect(events.at(-2)).toMatchObject({ event: "blocked", data: { reason: "refusal", fallback } });
    expect(done?.finish_reason).toBe("blocked");
  }
  await ask("Thanks", { tokens: ["You are welcome."] });
  expect(readPrompt()).toHaveLength(1);
  expect(await readReplies()).toEqual([...refusals.map(() => ["blocked", fallback]), ["done", "You are welcome."]]);
  await expect.poll(countUsed, { timeout: 20_000 }).toEqual([1, 0]);
});

test("thoughts are neither sent, nor stored, nor in the next prompt", async () => {
  const reply = { tokens: ["<thi", "nk>The visitor is", " rude.</th", "ink>\n\n", "Hel", "lo"] };
  expect((await ask("Hi", reply)).text).toBe("Hello");
  await ask("And?", { tokens: ["Bye"] });
  expect(await readReplies()).toEqual([
    ["done", "Hello"],
    ["done", "Bye"],
  ]);
  expect(readPrompt()).toEqual([
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hello" },
    { role: "user", content: "And?" },
  ]);
});

test("a model that requires its signature back gets it within the reply only, and the tool is called once", async () => {
  const { workspaceId, botSlug } = tenant;
  const value = {
    description: "Finds.",
    method: "GET",
    url: `${toolServer.url}/orders`,
    parameters: '{"type":"object"}',
  };
  await system.admin.tools.putTool({ workspaceId, botSlug, tool: { name: "order", kind: { case: "http", value } } });
  const hasSignature = ({ body }: ReceivedRequest) => JSON.stringify(body).includes(SIGNATURE);
  const call = { index: 0, id: "call-1", function: { name: "order", arguments: "" } };
  const extra = { extra_content: { google: { thought_signature: SIGNATURE } } };
  system.provider.script((request, index) => {
    if (index === 0)
      return stream(
        chunk({ reasoning_content: SIGNATURE, content: null }),
        chunk({ tool_calls: [{ ...call, ...extra }] }),
        chunk({}, "tool_calls"),
      );
    if (index === 1 && !hasSignature(request)) return { status: 400 };
    return { tokens: ["It is on its way."] };
  });
  const toolCalls = toolServer.requests.length;
  const { text, done } = await ask("Where is my order?");
  expect([done?.finish_reason, text]).toEqual(["stop", "It is on its way."]);
  expect(toolServer.requests.length - toolCalls).toBe(1);
  await ask("Thanks");
  expect(system.provider.requests.map(hasSignature)).toEqual([false, true, false]);
  const { body } = await exportTranscript(system, tenant, sessionId);
  expect(await new Response(body).text()).not.toContain(SIGNATURE);
  expect(system.llm.outputs()).not.toContain(SIGNATURE);
});
