import { Role } from "@parley/rpc/llm";
import { type FakeProvider, type Reply, startFakeProvider } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startTestProxy, statusOf, type TestProxy } from "../testing/llm-proxy.ts";

let provider: FakeProvider;
let proxy: TestProxy;
beforeAll(async () => {
  provider = await startFakeProvider();
  proxy = await startTestProxy({
    config: `
      providers: { fake: { base_url: "${provider.url}", retries: { max_attempts: 1 } } }
      routes: { two: ["fake:old", "fake:new"] }
    `,
  });
});
afterAll(async () => {
  await proxy.drop();
  await provider.close();
});
beforeEach(() => provider.reset());

/** Runs a generation, and returns its events and the names of the tools in each request. */
async function ask(replies: Reply[], { canRequestHuman = true, model = "fake:m" } = {}) {
  provider.script(replies);
  const messages = [{ role: Role.USER, content: "A person, please." }];
  const events = await proxy.generate({ model, prompt: { canRequestHuman, messages } });
  const offered = provider.requests.map(({ body }) => {
    const { tools = [] } = body as { tools?: { function: { name: string } }[] };
    return tools.map((each) => each.function.name);
  });
  return { events, status: statusOf(events), offered };
}

test("a model asks for a person, and then answers", async () => {
  const calling = { toolCalls: [{ name: "request_human", arguments: "{}" }] };
  const { events, status, offered } = await ask([calling, { tokens: ["I have asked a person."] }]);
  expect([status, events.text]).toEqual(["COMPLETE", "I have asked a person."]);
  expect(events.toolCalls).toMatchObject([{ name: "request_human", status: "ok" }]);
  expect(offered[0]).toEqual(["request_human"]);
});

test("a model cannot ask for a person unless the prompt permits it", async () => {
  const { status, offered } = await ask([{ tokens: ["Hello."] }], { canRequestHuman: false });
  expect([status, offered]).toEqual(["COMPLETE", [[]]]);
});

test.each([400, 404])("a model whose provider refuses tools with status %i answers without them", async (status) => {
  const { events, ...result } = await ask([{ status }, { tokens: ["Hello."] }]);
  expect([result.status, events.text, result.offered]).toEqual(["COMPLETE", "Hello.", [["request_human"], []]]);
});

test("a request that is refused without the tool too fails", async () => {
  const { status, offered } = await ask([{ status: 400 }, { status: 400 }, { tokens: ["Hello."] }]);
  expect([status, offered]).toEqual(["PROVIDER_ERROR", [["request_human"], []]]);
});

test("the next model of a route gets the tool that the first one has refused", async () => {
  const replies = [{ status: 400 }, { status: 500 }, { tokens: ["Hello."] }];
  const { events, offered } = await ask(replies, { model: "route:two" });
  expect([events.end.model, offered]).toEqual(["fake:new", [["request_human"], [], ["request_human"]]]);
});
