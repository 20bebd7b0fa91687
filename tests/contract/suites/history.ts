// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTenant } from "../../system/system.ts";
import { signVisitorToken } from "../../system/visitors.ts";
import { bearer } from "../support/api.ts";
import {
  addBot,
  addIdentityKey,
  type ContractSystem,
  createMemberToken,
  createVisitorWorkspace,
  formatError,
  formatRefusal,
  memberClaims,
  readTranscript,
  type VisitorWorkspace,
} from "../support/contract-system.ts";
import { ROWS, type Visitor } from "./verified-visitors.ts";

type Session = { id: string; title: string; started_at: string; last_activity_at: string };
type SessionsPage = { sessions: Session[]; next_cursor: string | null };
type Message = Record<"id" | "role" | "content" | "created_at", string> & Record<string, unknown>;
type MessagesPage = { messages: Message[]; next_before: string | null };

const NOT_FOUND = formatError(404, "session_not_found");

export function historySuite(shared: () => ContractSystem): void {
  let { system, api, tenant, secret } = {} as VisitorWorkspace;

  beforeAll(async () => {
    ({ system, api, tenant, secret } = await createVisitorWorkspace(shared()));
  });
  beforeEach(() => system.provider.reset());

  const signToken = (sub: string, key = secret) => signVisitorToken(key, sub);
  const newVisitor = () => `visitor-${randomUUID()}`;

  async function listSessions(token: string, { of = tenant, cursor = "" } = {}): Promise<SessionsPage> {
    const answer = await api.getHistory(of, token, { query: `&cursor=${cursor}` });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    return answer.body as SessionsPage;
  }
  const listIds = async (token: string, of = tenant) =>
    (await listSessions(token, { of })).sessions.map(({ id }) => id);
  const refusalOf = async (session: string, token: string | undefined, of = tenant) =>
    formatRefusal(await api.getHistory(of, token, { session }));
  async function readMessages(session: string, token: string, { of = tenant, before = "" } = {}) {
    const answer = await api.getHistory(of, token, { session, query: `&before=${before}` });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    return answer.body as MessagesPage;
  }

  describe("a session and a visitor", () => {
    const fieldsOf = async (visitor: Visitor): Promise<Record<string, unknown>> => {
      if (visitor === "nobody") return {};
      const id = visitor.slice(-1);
      return visitor.startsWith("claimed") ? { visitor_id: id } : { visitor_token: await signToken(id) };
    };

    test.each(ROWS)(
      "the history of $request has a session of $session only if it is this visitor's [D50/1] [D50/5]",
      async ({ session, request, result, stored }) => {
        const session_id = randomUUID();
        const fields = await fieldsOf(request);
        const token = fields.visitor_token as string | undefined;
        const expectHistory = async (owner: Visitor) => {
          const isOwn = token !== undefined && owner === request;
          if (token === undefined) {
            const required = formatError(401, "visitor_token_required");
            expect(formatRefusal(await api.getHistory(tenant, token))).toBe(required);
            expect(await refusalOf(session_id, token)).toBe(required);
          } else expect((await listIds(token)).includes(session_id)).toBe(isOwn);
          if (isOwn) expect((await readMessages(session_id, token)).messages.length).toBeGreaterThan(0);
          else expect(await refusalOf(session_id, token)).toBe(await refusalOf(randomUUID(), token));
          // Nobody reads the session by guessing the id of its visitor.
          if (!owner.startsWith("verified"))
            for (const id of ["X", "Y"]) expect(await refusalOf(session_id, await signToken(id))).toBe(NOT_FOUND);
        };

        await api.chat(tenant, { session_id, message: "1", ...(await fieldsOf(session)) });
        await expectHistory(session);
        if (result === "accepted") await api.chat(tenant, { session_id, message: "2", ...fields });
        else await api.refusedChat(tenant, { session_id, message: "2", ...fields });
        await expectHistory(stored);
      },
    );

    test("a session that had another visitor begins with the message of the change [D50/6]", async () => {
      const [a, b] = [newVisitor(), newVisitor()];
      const session_id = randomUUID();
      for (const [message, fields] of [
        ["secret of a", { visitor_id: a }],
        ["1 of b", { visitor_id: b }],
        ["2 of b", { visitor_token: await signToken(b) }],
      ] as const)
        await api.chat(tenant, { session_id, message, ...fields });
      const token = await signToken(b);
      const { messages } = await readMessages(session_id, token);
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
      expect(messages.filter(({ role }) => role === "user").map(({ content }) => content)).toEqual([
        "1 of b",
        "2 of b",
      ]);
      const { sessions } = await listSessions(token);
      expect(sessions).toMatchObject([{ id: session_id, title: "1 of b", started_at: messages[0]?.created_at }]);
      const earlier = await readMessages(session_id, token, { before: messages[0]?.id ?? "" });
      expect(earlier).toEqual({ messages: [], next_before: null });
      expect(await listIds(await signToken(a))).toEqual([]);
      expect(await refusalOf(session_id, await signToken(a))).toBe(NOT_FOUND);
    });
  });

  describe("a message", () => {
    /** Chats with a bot of its own. Returns what the visitor received, and the messages of the session's history. */
    async function converse(model: string, message: string, pattern?: { pattern: string; fallback: string }) {
      const bot = await createTenant(system.admin, { model });
      const token = await signToken("X", await addIdentityKey(system, bot));
      const { workspaceId, botSlug } = bot;
      if (pattern) await system.admin.moderation.addPattern({ workspaceId, botSlug, ...pattern });
      const session = randomUUID();
      const reply = await api.chat(bot, { session_id: session, message, visitor_token: token });
      const page = await readMessages(session, token, { of: bot });
      return { bot, token, session, reply, messages: page.messages };
    }

    test("has its text and its reply, the reply's end and rating, and nothing else [D50/2] [D50/4]", async () => {
      const { bot, token, session, reply, messages } = await converse("openai:default", "Hello?");
      const message_id = reply.meta?.message_id;
      const rating = { public_key: bot.publicKey, session_id: session, message_id, rating: "up", visitor_token: token };
      const headers = { origin: bot.origin };
      await api.call({ method: "POST", path: "/api/chat/rating/", headers, body: rating });
      const exported = (await readTranscript(system, bot, session)).messages;
      expect(messages).toEqual([
        { id: exported[0]?.id, role: "user", content: "Hello?", created_at: exported[0]?.created_at },
        {
          id: String(message_id),
          role: "assistant",
          content: reply.text,
          created_at: exported[1]?.created_at,
          finish_reason: "stop",
          rating: "",
        },
      ]);
      expect((await readMessages(session, token, { of: bot })).messages[1]).toMatchObject({ rating: "up" });
      const title = "Hello?";
      const { sessions } = await listSessions(token, { of: bot });
      expect(sessions).toEqual([
        { id: session, title, started_at: messages[0]?.created_at, last_activity_at: expect.any(String) },
      ]);
    });

    test("has the fallback of a blocked reply, and of a failed one the part that was received [D50/2] [D50/4]", async () => {
      const blocked = await converse("openai:echo", "This is forbidden.", {
        pattern: "forbidden",
        fallback: "Let us talk.",
      });
      expect(blocked.messages[1]).toMatchObject({ content: "Let us talk.", finish_reason: "blocked", rating: "" });
      const { reply, messages } = await converse("openai:cut-after-2", "Hello?");
      expect(reply.text).not.toBe("");
      expect(messages[1]).toMatchObject({ content: reply.text, finish_reason: "error", code: reply.error?.code });
    });

    test("has no text of a running reply, and of a stopped one the part that was received [D50/2] [D50/4]", async () => {
      const bot = await addBot(system, tenant, randomUUID(), "patient:tokens-60-every-250");
      const visitor_token = await signToken(newVisitor());
      const [session_id, key] = [randomUUID(), randomUUID()];
      const running = api.chat(bot, { session_id, message: "1", visitor_token }, { "idempotency-key": key });
      await expect.poll(() => system.provider.requests[0]?.tokensSent ?? 0, { timeout: 10_000 }).toBeGreaterThan(2);
      const { messages } = await readMessages(session_id, visitor_token, { of: bot });
      expect(messages.map(({ id: _, created_at: __, ...rest }) => rest)).toEqual([
        { role: "user", content: "1" },
        { role: "assistant", content: "", rating: "" },
      ]);
      const body = { public_key: bot.publicKey, session_id, idempotency_key: key, visitor_token };
      await api.call({ method: "POST", path: "/api/chat/stop/", headers: { origin: bot.origin }, body });
      const { text } = await running;
      const [, stopped] = (await readMessages(session_id, visitor_token, { of: bot })).messages;
      expect(stopped).toMatchObject({ content: text, finish_reason: "cancelled" });
    });
  });

  test("pages have 20 sessions, and 50 messages without splitting a turn [D50/3]", async () => {
    const visitor_token = await signToken(newVisitor());
    const sessions = Array.from({ length: 21 }, () => randomUUID());
    for (const session_id of sessions) await api.chat(tenant, { session_id, visitor_token });
    const first = await listSessions(visitor_token);
    const last = await listSessions(visitor_token, { cursor: first.next_cursor ?? "" });
    expect([first.sessions.length, last.sessions.length, last.next_cursor]).toEqual([20, 1, null]);
    expect([...first.sessions, ...last.sessions].map(({ id }) => id)).toEqual(sessions.toReversed());

    const [session_id = ""] = sessions;
    for (let turn = 2; turn <= 26; turn++) await api.chat(tenant, { session_id, message: String(turn), visitor_token });
    const newest = await readMessages(session_id, visitor_token);
    const oldest = await readMessages(session_id, visitor_token, { before: newest.next_before ?? "" });
    expect([newest.messages.length, oldest.messages.length, oldest.next_before]).toEqual([50, 2, null]);
    const texts = [...oldest.messages, ...newest.messages].filter(({ role }) => role === "user");
    expect(texts.map(({ content }) => content)).toEqual([
      "Hello?",
      ...Array.from({ length: 25 }, (_, n) => `${n + 2}`),
    ]);
    expect((await listIds(visitor_token))[0]).toBe(session_id);
  });

  test("nothing of another bot, of another workspace, of the playground or of no session is found [D50/5]", async () => {
    const visitor = newVisitor();
    const other = await createTenant(system.admin);
    const secondBot = await addBot(system, tenant, randomUUID());
    const otherToken = await signToken(visitor, await addIdentityKey(system, other));
    const token = await signToken(visitor);
    const own = { id: randomUUID(), of: tenant, token };
    const found = [
      own,
      { ...own, id: randomUUID(), of: secondBot },
      { id: randomUUID(), of: other, token: otherToken },
    ];
    for (const { id, of, token } of found) await api.chat(of, { session_id: id, visitor_token: token });
    for (const { of, token } of found) {
      const ids = found.filter((each) => each.of === of).map(({ id }) => id);
      expect(await listIds(token, of)).toEqual(ids);
      for (const { id } of found)
        if (!ids.includes(id)) expect(await refusalOf(id, token, of)).toBe(await refusalOf(randomUUID(), token, of));
    }
    // A token of another workspace is not valid.
    expect(await refusalOf(own.id, otherToken)).toBe(formatError(401, "invalid_visitor_token"));

    const member = await createMemberToken(system, tenant, visitor);
    const session_id = randomUUID();
    await api.playground(member, { bot_slug: tenant.botSlug, session_id });
    for (const id of [session_id, "x", "%00", "%E2%82", `${own.id}0`, "x".repeat(300)])
      expect(await refusalOf(id, token), id).toBe(NOT_FOUND);
    expect((await readMessages(own.id.toUpperCase(), token)).messages).toHaveLength(2);
  });

  test("a deleted and an erased session are gone, and a deleted bot's history with its key [D50/5]", async () => {
    const bot = await addBot(system, tenant, randomUUID());
    const visitor = newVisitor();
    const token = await signToken(visitor);
    const [deleted, kept] = [randomUUID(), randomUUID()];
    for (const session_id of [deleted, kept]) await api.chat(bot, { session_id, visitor_token: token });
    const headers = bearer(await system.sso.sign({ ...memberClaims(system, tenant), roles: ["parley-owner"] }));
    await api.call({ method: "DELETE", path: `/api/conversations/${deleted}/`, headers });
    expect(await listIds(token, bot)).toEqual([kept]);
    expect(await refusalOf(deleted, token, bot)).toBe(NOT_FOUND);
    const erase = { method: "POST", path: "/api/conversations/erase/", headers, body: { visitor_id: visitor } };
    expect((await api.call(erase)).status).toBe(202);
    await expect.poll(() => listIds(token, bot), { timeout: 10_000 }).toEqual([]);
    expect(await refusalOf(kept, token, bot)).toBe(NOT_FOUND);
    await system.admin.bots.deleteBot({ workspaceId: bot.workspaceId, slug: bot.botSlug });
    await expect.poll(() => refusalOf(kept, token, bot), { timeout: 10_000 }).toBe(formatError(401, "invalid_api_key"));
  });

  test("the key and the origin are checked before the token, and the token before the session [D50/7]", async () => {
    const session = randomUUID();
    const headers = { origin: "https://elsewhere.example" };
    for (const options of [{}, { session }]) {
      const history = (token: string | undefined, of = tenant, more = {}) =>
        api.getHistory(of, token, { ...options, ...more }).then(formatRefusal);
      const unknown = { ...tenant, publicKey: "x" };
      expect(await history("x", unknown, { headers })).toBe(formatError(401, "invalid_api_key"));
      expect(await history("x", tenant, { headers })).toBe(formatError(403, "origin_not_allowed"));
      expect(await history(undefined)).toBe(formatError(401, "visitor_token_required"));
      for (const authorization of ["", "Bearer", "Basic eDp5"])
        expect(await history(undefined, tenant, { headers: { authorization } })).toBe(
          formatError(401, "visitor_token_required"),
        );
      expect(await history("x")).toBe(formatError(401, "invalid_visitor_token"));
    }
    expect(await refusalOf(session, await signToken("X"))).toBe(NOT_FOUND);
  });
}
