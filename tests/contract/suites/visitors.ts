// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTenant, type Tenant } from "../../system/system.ts";
import { type Api, bearer } from "../support/api.ts";
import {
  addBot,
  type ContractSystem,
  createMemberToken,
  memberClaims,
  readTranscript,
} from "../support/contract-system.ts";
import { promptOf } from "../support/stream.ts";

const X = { visitor_id: "X" };
const Y = { visitor_id: "Y" };
const NOBODY = {};
type Visitor = { visitor_id?: string };

/** The id of the session, the id of a request, the visitors' messages in the request's prompt, and the session's id after it. */
const ROWS: [string, Visitor, Visitor, string[], string][] = [
  ["nobody", NOBODY, NOBODY, ["1", "2"], ""],
  ["nobody", NOBODY, X, ["1", "2"], "X"],
  ["X", X, NOBODY, ["1", "2"], "X"],
  ["X", X, X, ["1", "2"], "X"],
  ["X", X, Y, ["2"], "Y"],
];

export function visitorsSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;
  /** A bot whose replies take 3 s. */
  let slow: Tenant;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin);
    slow = await addBot(system, tenant, "slow", "patient:tokens-12-every-250");
  });
  beforeEach(() => system.provider.reset());

  const post = (path: string, bot: Tenant, fields: object) =>
    api.call({
      method: "POST",
      path,
      headers: { origin: bot.origin },
      body: { public_key: bot.publicKey, ...fields },
    });

  /** Sends a message and returns the visitors' messages in its prompt. */
  async function promptAfter(send: () => Promise<unknown>): Promise<string[]> {
    const at = system.provider.requests.length;
    await send();
    return promptOf(system, at)
      .filter(({ role }) => role === "user")
      .map(({ content }) => content);
  }

  describe("a session and a claimed visitor", () => {
    test.each(ROWS)(
      "in a session of %s, chat, resume, rating and stop behave as the table says [D43/1-4]: %j, then %j",
      async (_, first, second, prompt, stored) => {
        const session_id = randomUUID();
        const headers = { "idempotency-key": randomUUID() };
        const before = await api.chat(tenant, { session_id, message: "1", ...first }, headers);
        expect(await promptAfter(() => api.chat(tenant, { session_id, message: "2", ...second }))).toEqual(prompt);
        expect((await readTranscript(system, tenant, session_id)).session.visitor_id).toBe(stored);

        const calls = system.provider.requests.length;
        const replayed = await api.chat(tenant, { session_id, message: "1", ...second }, headers);
        expect(replayed.text).toBe(before.text);
        expect(replayed.events.at(-1)).toEqual(before.events.at(-1));
        const [, token] = before.events;
        const resumed = { ...headers, "last-event-id": token?.id ?? "" };
        const rest = await api.chat(tenant, { session_id, message: "1", ...second }, resumed);
        expect(rest.text).toBe(before.text.slice(String(token?.data.text).length));
        expect(system.provider.requests).toHaveLength(calls);

        const { message_id } = before.meta ?? {};
        expect((await post("/api/chat/rating/", tenant, { session_id, message_id, rating: "up" })).status).toBe(204);
        expect((await post("/api/chat/stop/", tenant, { session_id, message_id })).body).toEqual({ status: "done" });
      },
    );

    test.each(ROWS)(
      "while a reply of %s runs, a request with its key attaches to it, and a stop request stops it [D43/4]: %j, then %j",
      async (_, first, second) => {
        const session_id = randomUUID();
        const key = randomUUID();
        const send = (fields: object) =>
          api.chat(slow, { session_id, message: "1", ...fields }, { "idempotency-key": key });
        const running = send(first);
        await expect.poll(() => system.provider.requests.length, { timeout: 10_000 }).toBe(1);
        const attached = send(second);
        const next = api.chat(tenant, { session_id: randomUUID(), message: "other", ...second });
        expect((await next).done?.finish_reason).toBe("stop");
        const stopped = await post("/api/chat/stop/", slow, { session_id, idempotency_key: key });
        expect(stopped.body).toEqual({ status: "cancelled" });
        const [one, other] = await Promise.all([running, attached]);
        expect(other.text).toBe(one.text);
        expect([one.done?.finish_reason, other.done?.finish_reason]).toEqual(["cancelled", "cancelled"]);
        expect(system.provider.requests).toHaveLength(2);
      },
    );

    test("each change begins a new prompt, also back to an earlier visitor, and while an earlier visitor's reply runs [D43/2-3]", async () => {
      const session_id = randomUUID();
      const ask = (message: string, visitor: Visitor, bot = tenant) =>
        api.chat(bot, { session_id, message, ...visitor });
      const prompts: string[][] = [];
      for (const [message, visitor] of [
        ["1", X],
        ["2", Y],
        ["3", NOBODY],
        ["4", X],
        ["5", X],
        ["6", { visitor_id: "x" }],
      ] as const)
        prompts.push(await promptAfter(() => ask(message, visitor)));
      expect(prompts).toEqual([["1"], ["2"], ["2", "3"], ["4"], ["4", "5"], ["6"]]);

      const slowSession = { session_id: randomUUID() };
      const running = api.chat(slow, { ...slowSession, message: "mine", ...X });
      const calls = system.provider.requests.length;
      await expect.poll(() => system.provider.requests.length, { timeout: 10_000 }).toBe(calls + 1);
      const during = promptAfter(() => api.chat(slow, { ...slowSession, message: "yours", ...Y }));
      expect(await during).toEqual(["yours"]);
      await running;
      expect(await promptAfter(() => api.chat(slow, { ...slowSession, message: "yours again", ...Y }))).toEqual([
        "yours",
        "yours again",
      ]);
    });

    test("a change to another visitor removes the earlier visitor's metadata [D43/2]", async () => {
      const session_id = randomUUID();
      const stored = async () => (await readTranscript(system, tenant, session_id)).session.visitor_metadata;
      await api.chat(tenant, { session_id, ...X, visitor_metadata: { email: "x@a.example" } });
      await api.chat(tenant, { session_id });
      expect(await stored()).toEqual({ email: "x@a.example" });
      await api.chat(tenant, { session_id, ...Y });
      expect(await stored()).toEqual({});
    });
  });

  test("the list, the exports and an erasure find a conversation by each id that it had [D43/5]", async () => {
    const [first, second] = [`first-${randomUUID()}`, `second-${randomUUID()}`];
    const session_id = randomUUID();
    for (const visitor_id of [first, second]) await api.chat(tenant, { session_id, visitor_id });
    await api.chat(tenant, { visitor_id: second });
    const headers = bearer(
      await system.sso.sign({ ...memberClaims(system, tenant), roles: ["staff", "parley-owner"] }),
    );
    const listed = async (visitor_id: string) => {
      const { body } = await api.call({ path: `/api/conversations/?visitor_id=${visitor_id}`, headers });
      return (body as { conversations: { id: string; visitor_id: string }[] }).conversations;
    };
    expect(await listed(first)).toMatchObject([{ id: session_id, visitor_id: second }]);
    expect(await listed(second)).toHaveLength(2);
    const path = "/api/conversations/erase/";
    const erased = await api.call({ method: "POST", path, headers, body: { visitor_id: first } });
    expect(erased.body).toMatchObject({ conversations: 1 });
    await expect.poll(() => listed(first), { timeout: 10_000 }).toEqual([]);
    expect(await listed(second)).toHaveLength(1);
    const refused = await api.refusedChat(tenant, { session_id, visitor_id: second });
    expect([refused.status, refused.body]).toEqual([404, { error: "session_not_found" }]);
  });

  test("in the playground, two members continue the same session [D43/6]", async () => {
    const session_id = randomUUID();
    const tokens = [await createMemberToken(system, tenant), await createMemberToken(system, tenant)];
    const prompts: string[][] = [];
    for (const [at, token] of tokens.entries()) {
      const fields = { bot_slug: tenant.botSlug, session_id, message: String(at + 1) };
      prompts.push(await promptAfter(() => api.playground(token, fields)));
    }
    expect(prompts).toEqual([["1"], ["1", "2"]]);
  });
}
