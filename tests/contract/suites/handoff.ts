// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import type { SseEvent } from "@parley/test-support";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { readChat } from "../../system/chat.ts";
import { databaseOf, queryFirstRow } from "../../system/database.ts";
import { createTenant, type Tenant } from "../../system/system.ts";
import { newClientAddress, signVisitorToken } from "../../system/visitors.ts";
import { type Api, type ApiRequest, type ApiResponse, bearer } from "../support/api.ts";
import {
  addBot,
  addIdentityKey,
  type ContractSystem,
  formatDetail,
  formatError,
  formatRefusal,
  memberClaims,
  readTranscript,
  UNKNOWN_KEY,
  waitForUsedMessages,
} from "../support/contract-system.ts";
import { eventNames, eventsOf, promptOf } from "../support/stream.ts";

const ANNA = { id: "a1", name: "Anna" };
const BEN = { id: "b2", name: "Ben" };

export function handoffSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;
  let token: string;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin, { plan: "scale" });
    await enableHandoff(tenant);
    token = await signIn(tenant);
  });
  beforeEach(() => system.provider.reset());

  const enableHandoff = ({ workspaceId, botSlug: slug }: Tenant, changes: object = {}) =>
    system.admin.bots.updateBot({ workspaceId, slug, changes: { handoffEnabled: true, ...changes } });
  const signIn = (of: Tenant, role = "parley-owner") => system.sso.sign({ ...memberClaims(system, of), roles: [role] });

  const asVisitor = (fields: object, of = tenant): ApiRequest => ({
    method: "POST",
    path: "/api/chat/handoff/",
    headers: { origin: of.origin },
    body: { public_key: of.publicKey, ...fields },
  });
  const asOwner = (path: string, body?: object, headers = bearer(token)): ApiRequest => ({
    method: body === undefined ? "GET" : "POST",
    path,
    headers,
    ...(body && { body }),
  });
  const change = (session: string, action: string, agent: object | undefined = ANNA) =>
    api.call(asOwner(`/api/conversations/${session}/handoff/`, { action, agent }));
  const answer = (session: string, text: string, agent = ANNA, fields: object = {}) =>
    api.call(asOwner(`/api/conversations/${session}/messages/`, { text, agent, ...fields }));
  const livePath = (session: string, query = "", of = tenant) =>
    `/api/chat/live/?public_key=${of.publicKey}&session_id=${session}${query}`;
  const expectOk = (response: ApiResponse) => {
    expect(response.status, response.text).toBe(200);
    return response.body as Record<string, unknown>;
  };

  async function startSession(of = tenant): Promise<string> {
    const session_id = randomUUID();
    expect((await api.chat(of, { session_id })).done?.finish_reason).toBe("stop");
    return session_id;
  }

  /** Opens a live stream. `next` returns its next event; `received` are those before. The stream ends with the test. */
  async function follow(session: string, { query = "", headers = {} as Record<string, string> } = {}) {
    const controller = new AbortController();
    onTestFinished(() => controller.abort());
    const path = livePath(session, query);
    const response = await api.send({
      path,
      headers: { origin: tenant.origin, ...headers },
      signal: controller.signal,
    });
    expect(response.status).toBe(200);
    const events = eventsOf(response);
    const received: SseEvent[] = [];
    const next = async () => {
      const { value } = await events.next();
      if (value === undefined) throw new Error("the stream has ended");
      received.push(value);
      const { status, headers: responseHeaders } = response;
      const answered = { method: "GET", path: "/api/chat/live/", status, headers: responseHeaders, events: [value] };
      api.recordResponse(api.description.check(answered as never));
      return value;
    };
    return { next, received, close: () => controller.abort() };
  }

  test("a visitor asks for a person, who takes over, answers and gives the conversation back [D53/1-5]", async () => {
    const session = await startSession();
    const usedBefore = await waitForUsedMessages(system, tenant);
    const calls = system.provider.requests.length;
    const asked = expectOk(await api.call(asVisitor({ session_id: session })));
    expect(asked).toMatchObject({ state: "requested", reason: "visitor" });
    expect(asked.expires_in_ms).toBeGreaterThan(170_000);
    expect(expectOk(await api.call(asVisitor({ session_id: session })))).toMatchObject({ state: "requested" });
    const live = await follow(session);
    expect(await live.next()).toMatchObject({ event: "state", data: { state: "requested" } });

    const waiting = await api.chat(tenant, { session_id: session, message: "Anybody?" });
    expect(eventNames(waiting)).toEqual(["meta", "done"]);
    expect(waiting.done).toEqual({ finish_reason: "handoff", tokens_in: 0, tokens_out: 0, latency_ms: 0, model: "" });
    const messageId = String(Number(waiting.meta?.message_id) - 1);
    expect(await live.next()).toMatchObject({
      id: messageId,
      event: "message",
      data: { id: messageId, role: "user", content: "Anybody?" },
    });

    expect(expectOk(await change(session, "take"))).toMatchObject({ state: "assigned", reason: "taken", agent: ANNA });
    expect(await live.next()).toMatchObject({
      event: "state",
      data: { state: "assigned", agent: { name: "Anna" } },
    });
    expectOk(await change(session, "typing"));
    expect(await live.next()).toMatchObject({ event: "typing", data: { agent: { name: "Anna" } } });
    const { id } = expectOk(await answer(session, "I am Anna."));
    const message = { id, role: "assistant", content: "I am Anna.", agent: { name: "Anna" } };
    expect(await live.next()).toMatchObject({ id, event: "message", data: message });
    expect(expectOk(await change(session, "resolve", undefined))).toMatchObject({ state: "bot", reason: "resolved" });
    expect(await live.next()).toMatchObject({ event: "state", data: { state: "bot", reason: "resolved" } });

    expect(system.provider.requests).toHaveLength(calls);
    expect(await waitForUsedMessages(system, tenant)).toBe(usedBefore);
    const back = await api.chat(tenant, { session_id: session, message: "And now?" });
    expect(back.done?.finish_reason).toBe("stop");
    const prompt = promptOf(system, calls).map(({ role, content }) => `${role}: ${content}`);
    expect(prompt.slice(-3)).toEqual(["user: Anybody?", "assistant: I am Anna.", "user: And now?"]);
    const { messages } = await readTranscript(system, tenant, session);
    expect(messages.map(({ role, model }) => `${role} ${model === "" ? "" : String(model).split(":")[0]}`)).toEqual([
      "user ",
      "assistant openai",
      "user ",
      "assistant human",
      "user ",
      "assistant openai",
    ]);
    expect(messages[3]).toMatchObject({ model: "human:a1", tokens_in: 0, tokens_out: 0, status: "done" });
  });

  test("a client that connects again gets each message once, by after or Last-Event-ID [D53/6]", async () => {
    const session = await startSession();
    expectOk(await change(session, "take"));
    const ids: unknown[] = [];
    for (const text of ["one", "two", "three"]) ids.push(expectOk(await answer(session, text)).id);
    const contentsAfter = async (options: Parameters<typeof follow>[1], count: number) => {
      const live = await follow(session, options);
      for (let i = 0; i <= count; i++) await live.next();
      live.close();
      return live.received.slice(1).map(({ data }) => (data as { content: string }).content);
    };
    expect(await contentsAfter({}, 3)).toEqual(["one", "two", "three"]);
    expect(await contentsAfter({ query: `&after=${ids[0]}` }, 2)).toEqual(["two", "three"]);
    const headers = { "last-event-id": String(ids[1]) };
    expect(await contentsAfter({ query: `&after=${ids[0]}`, headers }, 1)).toEqual(["three"]);
  });

  test("a repeated message of an agent or a visitor is stored once [D53/7]", async () => {
    const session = await startSession();
    expectOk(await change(session, "take"));
    const request_id = randomUUID();
    const sent = [
      await answer(session, "Hello", ANNA, { request_id }),
      await answer(session, "Hello", ANNA, { request_id }),
    ];
    expect(new Set(sent.map((each) => expectOk(each).id)).size).toBe(1);
    const headers = { "idempotency-key": randomUUID() };
    const first = await api.chat(tenant, { session_id: session, message: "Hi" }, headers);
    const second = await api.chat(tenant, { session_id: session, message: "Hi" }, headers);
    expect(second.events).toEqual(first.events);
    expect(first.done?.finish_reason).toBe("handoff");
    expect((await readTranscript(system, tenant, session)).messages.slice(2)).toMatchObject([
      { content: "Hello" },
      { content: "Hi" },
    ]);
    const key = headers["idempotency-key"];
    const stop = { public_key: tenant.publicKey, session_id: session, idempotency_key: key };
    const stopped = await api.call({
      method: "POST",
      path: "/api/chat/stop/",
      headers: { origin: tenant.origin },
      body: stop,
    });
    expect(expectOk(stopped)).toEqual({ status: "handoff" });
  });

  test("of two agents who take a conversation, one gets it, and the other the name of the first [D53/3]", async () => {
    const session = await startSession();
    const answers = await Promise.all([change(session, "take", ANNA), change(session, "take", BEN)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    const winner = (answers.find(({ status }) => status === 200)?.body as { agent?: object } | undefined)?.agent;
    const loser = answers.find(({ status }) => status === 409)?.body;
    expect(loser).toEqual({ detail: "already_assigned", agent: winner });
    expectOk(await change(session, "assign", BEN));
    expect(formatRefusal(await answer(session, "Hello", ANNA))).toBe(formatDetail(409, "not_assigned"));
    expectOk(await answer(session, "Hello", BEN));
    const { conversations } = expectOk(await api.call(asOwner("/api/handoffs/"))) as {
      conversations: { id: string; handoff: object }[];
    };
    expect(conversations.find(({ id }) => id === session)?.handoff).toMatchObject({ state: "assigned", agent: BEN });
  });

  test("owners follow the list: it comes again when a visitor asks for a person, writes, or is answered [D53/14]", async () => {
    const session = await startSession();
    const controller = new AbortController();
    onTestFinished(() => controller.abort());
    const path = "/api/handoffs/live/";
    const viewer = bearer(await signIn(tenant, "parley-viewer"));
    const response = await api.send({ path, headers: viewer, signal: controller.signal });
    expect(response.status).toBe(200);
    const events = eventsOf(response);
    type Item = { id: string; excerpt: string; handoff: { state: string } };
    const nextItem = async () => {
      const { value } = await events.next();
      if (value === undefined) throw new Error("the stream has ended");
      const answered = { method: "GET", path, status: 200, headers: response.headers, events: [value] };
      api.recordResponse(api.description.check(answered as never));
      return (value.data as { conversations: Item[] }).conversations.find(({ id }) => id === session);
    };
    const waitForItem = async (matches: (item: Item | undefined) => boolean) => {
      for (;;) {
        const item = await nextItem();
        if (matches(item)) return;
      }
    };
    expect(await nextItem()).toBeUndefined();
    expectOk(await api.call(asVisitor({ session_id: session })));
    await waitForItem((item) => item?.handoff.state === "requested");
    await api.chat(tenant, { session_id: session, message: "Anybody?" });
    await waitForItem((item) => item?.excerpt === "Anybody?");
    expectOk(await change(session, "take"));
    await waitForItem((item) => item?.handoff.state === "assigned");
    expectOk(await change(session, "resolve"));
    await waitForItem((item) => item === undefined);
  }, 30_000);

  test("an agent's message may have 4,000 characters of any script [D53/4]", async () => {
    const session = await startSession();
    expectOk(await change(session, "take"));
    expectOk(await answer(session, "店".repeat(4_000)));
    expect((await answer(session, "店".repeat(4_001))).status).toBe(400);
  });

  test("only the agent who has the conversation is shown typing [D53/3]", async () => {
    const session = await startSession();
    expect(formatDetail(409, "not_assigned")).toBe(formatRefusal(await change(session, "typing")));
    expectOk(await change(session, "take"));
    expect(expectOk(await change(session, "typing"))).toMatchObject({ state: "assigned", agent: ANNA });
    expect(formatRefusal(await change(session, "typing", BEN))).toBe(formatDetail(409, "not_assigned"));
    expectOk(await change(session, "resolve"));
    expect(formatRefusal(await change(session, "typing"))).toBe(formatDetail(409, "not_assigned"));
  });

  test("an open live stream ends within 5 s after its key is revoked [D53/6]", async () => {
    const own = await createTenant(system.admin);
    await enableHandoff(own);
    const session = await startSession(own);
    const response = await api.send({ path: livePath(session, "", own), headers: { origin: own.origin } });
    const events = eventsOf(response);
    expect((await events.next()).value).toMatchObject({ event: "state" });
    await system.admin.keys.revokeKey({ workspaceId: own.workspaceId, publicKey: own.publicKey });
    const revokedAt = Date.now();
    expect((await events.next()).done).toBe(true);
    // The margin is for a machine under load. Without the revocation, the stream ends after 10 minutes.
    expect(Date.now() - revokedAt).toBeLessThan(10_000);
  });

  test("a private note reaches the team and nothing else [D53/18]", async () => {
    const session = await startSession();
    const path = `/api/conversations/${session}/notes/`;
    const secret = `note-${randomUUID()}`;
    const endpoint = await system.admin.webhooks.createEndpoint({
      workspaceId: tenant.workspaceId,
      changes: { url: "https://receiver.example/", includeContent: true },
    });
    expectOk(await change(session, "take"));
    const live = await follow(session);
    await live.next();
    const listed = await api.send({ path: "/api/handoffs/live/", headers: bearer(token) });
    const lists = eventsOf(listed);
    await lists.next();
    const request_id = randomUUID();
    for (let i = 0; i < 2; i++) {
      const added = await api.call(asOwner(path, { text: secret, agent: ANNA, request_id }));
      expect([added.status, added.text]).toEqual([204, ""]);
    }
    const { value: news } = await lists.next();
    await lists.return?.(undefined);
    expect(news?.data).toMatchObject({
      conversations: expect.arrayContaining([expect.objectContaining({ id: session, notes: 1 })]),
    });
    const viewer = bearer(await signIn(tenant, "parley-viewer"));
    const { notes } = expectOk(await api.call(asOwner(path, undefined, viewer))) as { notes: object[] };
    expect(notes).toEqual([
      {
        id: expect.any(String),
        text: secret,
        created_at: expect.any(String),
        agent: ANNA,
        after_message_id: expect.any(String),
      },
    ]);
    expect((await api.call(asOwner(path, { text: secret, agent: ANNA }, viewer))).status).toBe(403);
    expect((await api.call(asOwner(path, { text: " ", agent: ANNA }))).status).toBe(400);
    const missing = `/api/conversations/${randomUUID()}/notes/`;
    for (const each of [asOwner(missing), asOwner(missing, { text: "a", agent: ANNA })])
      expect(formatRefusal(await api.call(each))).toBe(formatDetail(404, "session_not_found"));

    const { id } = expectOk(await answer(session, "I am Anna."));
    expect(await live.next()).toMatchObject({ event: "message", id });
    expectOk(await change(session, "resolve"));
    await live.next();
    expect(JSON.stringify(live.received)).not.toContain(secret);
    const calls = system.provider.requests.length;
    const back = await api.chat(tenant, { session_id: session, message: "And now?" });
    expect(JSON.stringify([back.events, promptOf(system, calls)])).not.toContain(secret);
    const started = new Date(Date.now() - 60_000).toISOString();
    for (const owned of [`conversations/${session}/export.json`, `conversations/?since=${started}`, "handoffs/"])
      expect((await api.call(asOwner(`/api/${owned}`))).text).not.toContain(secret);
    expect((await api.call(asOwner(`/api/conversations/?q=${secret}`))).body).toMatchObject({ conversations: [] });
    // Bulk exports, histories and webhooks read only what these tables have.
    const tables = ["session_notes", "messages", "sessions", "events", "webhook_deliveries", "audit_log"];
    const counts = await queryFirstRow(
      databaseOf(system, tenant.workspaceId),
      `SELECT ${tables
        .map(
          (table) =>
            `(SELECT count(*) FROM conversation.${table} t WHERE workspace_id = $1 AND t::text LIKE $2)::integer AS ${table}`,
        )
        .join()}`,
      [tenant.workspaceId, `%${secret}%`],
    );
    expect(counts).toEqual({ ...Object.fromEntries(tables.map((table) => [table, 0])), session_notes: 1 });
    await system.admin.webhooks.deleteEndpoint({ workspaceId: tenant.workspaceId, id: endpoint.endpoint?.id ?? "" });
  }, 30_000);

  test("a member who follows the list with a name is a colleague, and a viewer is none [D53/19]", async () => {
    const own = await createTenant(system.admin);
    const openList = async (role: string, sub: string, query: string) => {
      const controller = new AbortController();
      onTestFinished(() => controller.abort());
      const headers = bearer(await system.sso.sign({ ...memberClaims(system, own, sub), roles: [role] }));
      return api.send({ path: `/api/handoffs/live/${query}`, headers, signal: controller.signal });
    };
    const events = eventsOf(await openList("parley-owner", "olga", ""));
    expect((await events.next()).value?.data).toEqual({ conversations: [], agents: [] });
    expect((await openList("parley-viewer", "vera", "?agent_name=Vera")).status).toBe(200);
    expect((await openList("parley-agent", "a".repeat(201), "?agent_name=Ada")).status).toBe(200);
    expect((await openList("parley-agent", "cem", "?agent_name=Cem")).status).toBe(200);
    const agents = [{ id: "cem", name: "Cem", is_here: true }];
    expect((await events.next()).value?.data).toEqual({ conversations: [], agents });
    const owner = bearer(await signIn(own));
    expect(expectOk(await api.call(asOwner("/api/handoffs/", undefined, owner)))).toEqual({
      conversations: [],
      agents,
    });
    for (const query of [`agent_name=${"a".repeat(201)}`, "agent_name=%20", "name=Cem"])
      expect(formatRefusal(await api.call(asOwner(`/api/handoffs/live/?${query}`, undefined, owner)))).toBe(
        formatDetail(400, "invalid_parameter"),
      );
  });

  test("a conversation says whether its agent has taken it or got it from a colleague [D53/19]", async () => {
    const session = await startSession();
    const path = `/api/conversations/${session}/handoff/`;
    const assign = async (by: string, agent: object) => {
      const headers = bearer(await system.sso.sign({ ...memberClaims(system, tenant, by), roles: ["parley-agent"] }));
      return expectOk(await api.call(asOwner(path, { action: "assign", agent }, headers))).reason;
    };
    expect(await assign(ANNA.id, BEN)).toBe("assigned");
    expect(await assign(ANNA.id, ANNA)).toBe("taken");
    expect(await assign(ANNA.id, BEN)).toBe("assigned");
  });

  test("a conversation has at most 200 notes [D53/18]", async () => {
    const session = await startSession();
    const insert = `INSERT INTO conversation.session_notes (workspace_id, session_id, request_id, after_message_id, author_id, author_name, content)
      SELECT $1, $2, gen_random_uuid(), 1, 'a', 'A', 'n' FROM generate_series(1, 200) RETURNING note_id`;
    await queryFirstRow(databaseOf(system, tenant.workspaceId), insert, [tenant.workspaceId, session]);
    const added = await api.call(asOwner(`/api/conversations/${session}/notes/`, { text: "One more", agent: ANNA }));
    expect(formatRefusal(added)).toBe(formatDetail(409, "too_many_notes"));
  });

  test("a takeover cancels the running reply, and keeps what the visitor has of it [D53/8]", async () => {
    const slow = await addBot(system, tenant, "slow-handoff", "openai:tokens-50-every-100");
    await enableHandoff(slow);
    const session = randomUUID();
    const usedBefore = await waitForUsedMessages(system, tenant);
    const response = await api.openChat(slow, { session_id: session });
    const events = eventsOf(response);
    let shown = "";
    while (shown === "") {
      const { value } = await events.next();
      if (value?.event === "token") shown += (value.data as { text: string }).text;
    }
    expectOk(await change(session, "take"));
    const ending: SseEvent[] = [];
    for (let { value } = await events.next(); value !== undefined; { value } = await events.next()) {
      if (value.event === "token") shown += (value.data as { text: string }).text;
      else ending.push(value);
    }
    expect(ending).toMatchObject([
      { event: "handoff", data: { state: "assigned", reason: "taken", agent: { name: "Anna" } } },
      { event: "done", data: { finish_reason: "cancelled" } },
    ]);
    const { messages } = await readTranscript(system, tenant, session);
    expect(messages[1]).toMatchObject({ status: "cancelled", content: shown });
    expect(await waitForUsedMessages(system, tenant)).toBe(usedBefore);
    const next = await readChat(await api.openChat(slow, { session_id: session, message: "Hello?" }));
    expect(next.done?.finish_reason).toBe("handoff");
  });

  test("nobody is asked outside of the hours, and a request that nobody answers ends by itself [D53/9]", async () => {
    const bot = await addBot(system, tenant, "closed-handoff");
    const today = new Date().getUTCDay();
    const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    await enableHandoff(bot, { handoffHours: { values: [`${days[(today + 3) % 7]} 10:00-11:00`] } });
    const session = await startSession(bot);
    expect(expectOk(await api.call(asVisitor({ session_id: session }, bot)))).toMatchObject({
      state: "bot",
      reason: "closed",
    });
    expect((await api.chat(bot, { session_id: session })).done?.finish_reason).toBe("stop");
    const impatient = await addBot(system, tenant, "impatient-handoff");
    await enableHandoff(impatient, { handoffWaitSeconds: 10 });
    const waiting = await startSession(impatient);
    expectOk(await api.call(asVisitor({ session_id: waiting }, impatient)));
    await expect
      .poll(async () => (await api.chat(impatient, { session_id: waiting })).done?.finish_reason, {
        timeout: 25_000,
        interval: 1_000,
      })
      .toBe("stop");
  }, 60_000);

  test("a bot asks for a person after the replies that its rules name [D53/10]", async () => {
    const bot = await addBot(system, tenant, "rated-handoff");
    await enableHandoff(bot, { handoffAfterBadlyRated: 1 });
    const session = randomUUID();
    const { meta } = await api.chat(bot, { session_id: session });
    await api.rateMessage(bot, { session_id: session, message_id: meta?.message_id, rating: "down" });
    expect(expectOk(await api.call(asVisitor({ session_id: session }, bot)))).toMatchObject({ reason: "badly_rated" });
    const declining = await addBot(system, tenant, "declining-handoff");
    await enableHandoff(declining, { handoffAfterDeclined: 1 });
    system.provider.script([{ tokens: ["[no answer] I do not know."] }]);
    const { events } = await api.chat(declining, { message: "Do you sell cars?" });
    expect(events.at(-2)).toMatchObject({ event: "handoff", data: { state: "requested", reason: "declined" } });
  });

  test("the model asks for a person with its tool, and the visitor gets the state before done [D53/10]", async () => {
    const bot = await addBot(system, tenant, "asking-handoff");
    await enableHandoff(bot);
    const calling = { toolCalls: [{ name: "request_human", arguments: "{}" }] };
    system.provider.script([calling, { tokens: ["I have asked a person."] }]);
    const session = randomUUID();
    const { events, text } = await api.chat(bot, { session_id: session, message: "A person, please." });
    expect(text).toBe("I have asked a person.");
    expect(events.at(-2)).toMatchObject({ event: "handoff", data: { state: "requested", reason: "model" } });
    expect((await api.chat(bot, { session_id: session })).done?.finish_reason).toBe("handoff");
  });

  test("without the handoff, the configuration does not have it, and nobody can be asked [D53/11]", async () => {
    const bot = await addBot(system, tenant, "no-handoff");
    const session = await startSession(bot);
    const configOf = async (of: Tenant) => ((await api.getConfig(of)).body as { bot: object }).bot;
    expect(await configOf(bot)).not.toHaveProperty("handoff");
    expect(await configOf(tenant)).toMatchObject({ handoff: true });
    expect(formatRefusal(await api.call(asVisitor({ session_id: session }, bot)))).toBe(
      formatError(409, "handoff_off"),
    );
  });

  describe("refusals", () => {
    test("visitors get chat's refusals [D53/12]", async () => {
      const session_id = await startSession();
      const live = (query: string, headers: Record<string, string> = { origin: tenant.origin }) =>
        api.call({ path: `/api/chat/live/?${query}`, headers });
      const query = `public_key=${tenant.publicKey}&session_id=`;
      const post = (body: object | string, headers: Record<string, string> = { origin: tenant.origin }) =>
        api.call({ ...asVisitor({}), body, headers });
      const own = { public_key: tenant.publicKey, session_id };
      const refusals = await Promise.all([
        live(`${query}x`),
        post("{"),
        post({ ...own, session_id: "x" }),
        post({ ...own, public_key: UNKNOWN_KEY }),
        live(`public_key=${UNKNOWN_KEY}&session_id=${session_id}`),
        post(own, { origin: "https://other.example" }),
        live(`${query}${session_id}`, { origin: "https://other.example" }),
        post({ ...own, session_id: randomUUID() }),
        live(`${query}${randomUUID()}`),
        post(`${" ".repeat(9_000)}{}`),
      ]);
      expect(refusals.map(({ status }) => status)).toEqual([400, 400, 400, 401, 401, 403, 403, 404, 404, 413]);
      for (const path of ["/api/chat/handoff/", "/api/chat/live/"]) {
        const preflight = { "access-control-request-method": "POST", origin: tenant.origin };
        expect((await api.call({ method: "OPTIONS", path, headers: preflight })).status).toBe(204);
        expect((await api.call({ method: "OPTIONS", path })).status).toBe(405);
        expect((await api.call({ method: "PUT", path })).status).toBe(405);
      }
      const address = newClientAddress();
      const limited: number[] = [];
      for (let i = 0; i < 61; i++) limited.push((await api.call({ ...asVisitor({ session_id }), address })).status);
      expect(limited.at(-1)).toBe(429);
      const path = livePath(session_id);
      expect((await api.call({ path, headers: { origin: tenant.origin }, address })).status).toBe(429);
    });

    test("a verified visitor gets no claimed session, and nobody else a verified visitor's [D53/12]", async () => {
      const own = await createTenant(system.admin, { plan: "scale" });
      await enableHandoff(own);
      const secret = await addIdentityKey(system, own);
      const visitor_token = await signVisitorToken(secret, "ada");
      const [claimed, verified] = [randomUUID(), randomUUID()];
      await api.chat(own, { session_id: claimed, visitor_id: "ben" });
      await api.chat(own, { session_id: verified, visitor_token });
      const live = (session: string, headers = {}) =>
        api.call({ path: livePath(session, "", own), headers: { origin: own.origin, ...headers } });
      const asAda = { ...bearer(visitor_token) };
      expect(formatRefusal(await live(claimed, asAda))).toBe(formatError(409, "visitor_mismatch"));
      expect(formatRefusal(await live(verified))).toBe(formatError(404, "session_not_found"));
      expect(formatRefusal(await api.call(asVisitor({ session_id: claimed, visitor_token }, own)))).toBe(
        formatError(409, "visitor_mismatch"),
      );
      expect(formatRefusal(await api.call(asVisitor({ session_id: verified }, own)))).toBe(
        formatError(404, "session_not_found"),
      );
      expectOk(await api.call(asVisitor({ session_id: verified, visitor_token }, own)));
    });

    test("an agent takes, answers, notes, assigns, resolves, lists and reads, and does nothing else in the owner API [D53/13]", async () => {
      const session = await startSession();
      const claims = memberClaims(system, tenant);
      const agent = bearer(await system.sso.sign({ ...claims, roles: ["parley-agent"] }));
      const self = { id: claims.sub, name: "Cem" };
      const call = async (method: string, path: string, body?: object) => {
        const request = { method, path: `/api/${path}`, headers: agent, ...(body && { body }) };
        return (await api.call(request)).status;
      };
      const calls = [
        ["POST", `conversations/${session}/handoff/`, { action: "take", agent: self }],
        ["POST", `conversations/${session}/messages/`, { text: "Hi", agent: self }],
        ["POST", `conversations/${session}/messages/`, { text: "Hi", agent: ANNA }],
        ["POST", `conversations/${session}/notes/`, { text: "Hi", agent: self }],
        ["POST", `conversations/${session}/notes/`, { text: "Hi", agent: ANNA }],
        ["GET", `conversations/${session}/notes/`],
        ["POST", `conversations/${session}/handoff/`, { action: "typing", agent: ANNA }],
        ["POST", `conversations/${session}/handoff/`, { action: "assign", agent: BEN }],
        ["POST", `conversations/${session}/handoff/`, { action: "take", agent: BEN }],
        ["POST", `conversations/${session}/handoff/`, { action: "resolve" }],
        ["GET", "handoffs/"],
        ["GET", "conversations/"],
        ["GET", `conversations/${session}/export.json`],
        ["GET", "conversations/export.ndjson"],
        ["GET", "conversations/export.csv"],
        ["POST", "conversations/erase/", { visitor_id: "v" }],
        ["DELETE", `conversations/${session}/`],
      ] as const;
      const statuses: number[] = [];
      for (const [method, path, body] of calls) statuses.push(await call(method, path, body));
      expect(statuses).toEqual([200, 200, 403, 204, 403, 200, 403, 200, 403, 200, 200, 200, 200, 403, 403, 403, 403]);
    });

    test("owners get the refusals of the owner API [D53/13]", async () => {
      const session = await startSession();
      const viewer = bearer(await signIn(tenant, "parley-viewer"));
      const stranger = bearer(await signIn(await createTenant(system.admin)));
      const [handoff, messages, notes] = ["handoff", "messages", "notes"].map(
        (name) => `/api/conversations/${session}/${name}/`,
      ) as [string, string, string];
      const take = { action: "take", agent: ANNA };
      const message = { text: "Hi", agent: ANNA };
      for (const [path, body] of [
        [handoff, take],
        [messages, message],
        [notes, message],
      ] as const) {
        const send = (request: Partial<ApiRequest>) => api.call({ ...asOwner(path, body), ...request });
        const unknown = path.replace(session, randomUUID());
        const answers = [
          await send({ body: "{" }),
          await send({ body: {} }),
          await send({ headers: {} }),
          await send({ headers: viewer }),
          await send({ path: unknown }),
          await send({ path: path.replace(session, "x") }),
          await send({ headers: stranger }),
          await send({ body: `${" ".repeat(33_000)}{}` }),
          await send({ method: "PUT" }),
        ];
        expect(answers.map(({ status }) => status)).toEqual([400, 400, 401, 403, 404, 404, 404, 413, 405]);
      }
      const nobody = bearer(await system.sso.sign(memberClaims(system, tenant)));
      for (const path of ["/api/handoffs/", "/api/handoffs/live/", notes]) {
        expect((await api.call(asOwner(path, undefined, {} as never))).status).toBe(401);
        expect((await api.call(asOwner(path, undefined, nobody))).status).toBe(403);
        expect((await api.call({ ...asOwner(path), method: "PUT" })).status).toBe(405);
      }
      const busy = bearer(await signIn(tenant));
      for (let sent = 0; sent < 600; sent += 50)
        await Promise.all(Array.from({ length: 50 }, () => api.call(asOwner("/api/handoffs/", undefined, busy))));
      for (const request of [
        asOwner("/api/handoffs/", undefined, busy),
        asOwner("/api/handoffs/live/", undefined, busy),
        asOwner(handoff, take, busy),
        asOwner(messages, message, busy),
        asOwner(notes, message, busy),
        asOwner(notes, undefined, busy),
      ])
        expect((await api.call(request)).status).toBe(429);
    }, 60_000);
  });
}
