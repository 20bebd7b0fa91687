// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTenant, type Tenant } from "../../system/system.ts";
import { type SignOptions, signVisitorToken } from "../../system/visitors.ts";
import { type ApiResponse, bearer } from "../support/api.ts";
import {
  addBot,
  addKey,
  type ContractSystem,
  createMemberToken,
  createVisitorWorkspace,
  formatError,
  formatRefusal,
  memberClaims,
  readTranscript,
  type VisitorWorkspace,
} from "../support/contract-system.ts";
import { promptOf } from "../support/stream.ts";

export type Visitor = "nobody" | "claimed X" | "claimed Y" | "verified X" | "verified Y";
type Row = { session: Visitor; request: Visitor; result: "accepted" | "404" | "409"; stored: Visitor };

const row = (session: Visitor, request: Visitor, result: Row["result"], stored = session): Row => ({
  session,
  request,
  result,
  stored,
});
export const ROWS: Row[] = [
  row("nobody", "verified X", "accepted", "verified X"),
  row("claimed X", "verified X", "accepted", "verified X"),
  row("claimed X", "claimed Y", "accepted", "claimed Y"),
  row("claimed X", "verified Y", "409"),
  row("verified X", "verified X", "accepted"),
  row("verified X", "nobody", "404"),
  row("verified X", "claimed X", "404"),
  row("verified X", "claimed Y", "404"),
  row("verified X", "verified Y", "404"),
];

export function verifiedVisitorsSuite(shared: () => ContractSystem): void {
  let { system, api, tenant, secret } = {} as VisitorWorkspace;
  /** A bot whose replies take 3 s. */
  let slow: Tenant;

  beforeAll(async () => {
    ({ system, api, tenant, secret } = await createVisitorWorkspace(shared()));
    slow = await addBot(system, tenant, "slow", "patient:tokens-12-every-250");
  });
  beforeEach(() => system.provider.reset());

  const signToken = (sub: string, { key = secret, ...options }: SignOptions & { key?: string } = {}) =>
    signVisitorToken(key, sub, options);
  const fieldsOf = async (visitor: Visitor): Promise<Record<string, unknown>> => {
    if (visitor === "nobody") return {};
    const id = visitor.slice(-1);
    return visitor.startsWith("claimed") ? { visitor_id: id } : { visitor_token: await signToken(id) };
  };
  const post = (path: string, bot: Tenant, fields: object, headers: Record<string, string> = {}) =>
    api.call({
      method: "POST",
      path,
      headers: { origin: bot.origin, ...headers },
      body: { public_key: bot.publicKey, ...fields },
    });
  const stop = (fields: object, bot = tenant) => post("/api/chat/stop/", bot, fields);
  const rate = (fields: object) => post("/api/chat/rating/", tenant, { rating: "up", ...fields });
  const refusalOf = ({ status, text }: ApiResponse) => `${status} ${text}`;

  describe("a session and a verified visitor", () => {
    test.each(ROWS)(
      "a session of $session, and chat, resume, rating and stop of $request: $result [D46/3-6]",
      async (each) => {
        const session_id = randomUUID();
        const headers = { "idempotency-key": randomUUID() };
        const first = { session_id, message: "1", ...(await fieldsOf(each.session)) };
        const visitor = await fieldsOf(each.request);
        const before = await api.chat(tenant, first, headers);
        const { message_id } = before.meta ?? {};
        const [, token] = before.events;
        const resume = { ...headers, "last-event-id": token?.id ?? "" };
        const { public_key: _, visitor_id: __, ...proof } = visitor;
        const calls = system.provider.requests.length;

        if (each.result === "accepted") {
          const replayed = await api.chat(tenant, { session_id, message: "1", ...visitor }, headers);
          expect(replayed.text).toBe(before.text);
          const rest = await api.chat(tenant, { session_id, message: "1", ...visitor }, resume);
          expect(rest.text).toBe(before.text.slice(String(token?.data.text).length));
          expect(system.provider.requests).toHaveLength(calls);
          expect((await rate({ session_id, message_id, ...proof })).status).toBe(204);
          expect((await stop({ session_id, message_id, ...proof })).body).toEqual({ status: "done" });
          await api.chat(tenant, { session_id, message: "2", ...visitor });
          const messages = promptOf(system, calls).filter(({ role }) => role === "user");
          const isOther = each.session.slice(-1) !== each.request.slice(-1) && each.session !== "nobody";
          expect(messages.map(({ content }) => content)).toEqual(isOther ? ["2"] : ["1", "2"]);
        } else {
          const chat = { session_id, message: "1", ...visitor };
          const refusals = [
            await api.refusedChat(tenant, { ...chat, message: "2" }),
            await api.refusedChat(tenant, chat, { headers }),
            await api.refusedChat(tenant, { ...chat, message: "another" }, { headers }),
            await api.refusedChat(tenant, chat, { headers: resume }),
            await rate({ session_id, message_id, ...proof }),
            await stop({ session_id, message_id, ...proof }),
            await stop({ session_id, idempotency_key: headers["idempotency-key"], ...proof }),
          ];
          const codes = {
            "404": [...Array(3).fill("session_not_found"), "turn_not_found", ...Array(3).fill("message_not_found")],
            "409": Array(7).fill("visitor_mismatch"),
          }[each.result];
          expect(refusals.map(formatRefusal)).toEqual(codes.map((code) => formatError(Number(each.result), code)));
          expect(system.provider.requests).toHaveLength(calls);
          if (each.result === "404") {
            const missing = { ...chat, session_id: randomUUID() };
            expect(refusalOf(await api.refusedChat(tenant, missing, { headers: resume }))).toBe(
              refusalOf(refusals[3] as ApiResponse),
            );
            expect(refusalOf(await rate({ ...missing, message_id, ...proof }))).toBe(
              refusalOf(refusals[4] as ApiResponse),
            );
          }
        }
        const { session, messages } = await readTranscript(system, tenant, session_id);
        expect(session.visitor_id).toBe(each.stored === "nobody" ? "" : each.stored.slice(-1));
        expect(messages).toHaveLength(each.result === "accepted" ? 4 : 2);
        // A session of a verified visitor is closed to requests without a token.
        const anonymous = await stop({ session_id, message_id });
        expect(anonymous.status).toBe(each.stored.startsWith("verified") ? 404 : 200);
      },
    );

    test.each(ROWS)(
      "while a reply of $session runs, a request of $request with its key: $result [D46/4-6]",
      async (each) => {
        const session_id = randomUUID();
        const headers = { "idempotency-key": randomUUID() };
        const visitor = await fieldsOf(each.request);
        const { visitor_id: _, ...proof } = visitor;
        const running = api.chat(slow, { session_id, message: "1", ...(await fieldsOf(each.session)) }, headers);
        await expect.poll(() => system.provider.requests.length, { timeout: 10_000 }).toBe(1);
        const again = { session_id, message: "1", ...visitor };
        const target = { session_id, idempotency_key: headers["idempotency-key"] };
        if (each.result === "accepted") {
          const attached = api.chat(slow, again, headers);
          await expect.poll(() => system.provider.requests[0]?.tokensSent ?? 0, { timeout: 10_000 }).toBeGreaterThan(2);
          expect((await stop({ ...target, ...proof }, slow)).body).toEqual({ status: "cancelled" });
          expect((await attached).text).toBe((await running).text);
        } else {
          const refusals = [
            await api.refusedChat(slow, again, { headers }),
            await api.refusedChat(slow, again, { headers: { ...headers, "last-event-id": "1-0" } }),
            await stop({ ...target, ...proof }, slow),
          ];
          expect(refusals.map(({ status }) => status)).toEqual(Array(3).fill(Number(each.result)));
          expect((await running).done?.finish_reason).toBe("stop");
        }
        expect(system.provider.requests).toHaveLength(1);
      },
    );

    test("a reply that began before its session got a verified visitor is closed to all others [D46/6]", async () => {
      const session_id = randomUUID();
      const headers = { "idempotency-key": randomUUID() };
      const first = { session_id, message: "1" };
      const running = api.chat(slow, first, headers);
      await expect.poll(() => system.provider.requests.length, { timeout: 10_000 }).toBe(1);
      const token = { visitor_token: await signToken("X") };
      const next = api.chat(slow, { session_id, message: "2", ...token });
      await expect.poll(() => system.provider.requests.length, { timeout: 10_000 }).toBe(2);
      expect(formatRefusal(await api.refusedChat(slow, first, { headers }))).toBe(
        formatError(404, "session_not_found"),
      );
      const target = { session_id, idempotency_key: headers["idempotency-key"] };
      expect((await stop(target, slow)).status).toBe(404);
      const attached = await api.chat(slow, { ...first, ...token }, headers);
      expect(attached.text).toBe((await running).text);
      await next;
    });

    test("the playground ignores visitor tokens [D46/8]", async () => {
      const token = await createMemberToken(system, tenant);
      const session_id = randomUUID();
      const fields = { bot_slug: tenant.botSlug, session_id, message: "1" };
      for (const more of [{}, { visitor_token: await signToken("X") }, { visitor_token: "invalid" }])
        expect((await api.playground(token, { ...fields, ...more })).done?.finish_reason).toBe("stop");
    });
  });

  test("the token's metadata replaces the page's, and its sub the page's visitor_id [D46/2]", async () => {
    const session_id = randomUUID();
    const page = { visitor_id: "page", visitor_metadata: { plan: "page" } };
    const stored = async () => (await readTranscript(system, tenant, session_id)).session;
    await api.chat(tenant, { session_id, ...page, visitor_token: await signToken("X") });
    expect(await stored()).toMatchObject({ visitor_id: "X", visitor_metadata: { plan: "page" } });
    const visitor_token = await signToken("X", { metadata: { plan: "gold" } });
    await api.chat(tenant, { session_id, ...page, visitor_token });
    expect(await stored()).toMatchObject({ visitor_id: "X", visitor_metadata: { plan: "gold" } });
  });

  test("the list of conversations has whether each visitor is verified, and the exports do not [D46/9]", async () => {
    const own = await createTenant(system.admin);
    const keyOfOwn = await system.admin.identityKeys.createIdentityKey({ workspaceId: own.workspaceId });
    const { meta: claimed } = await api.chat(own, { visitor_id: "X" });
    const { meta: anonymous } = await api.chat(own, {});
    const visitor_token = await signToken("X", { key: keyOfOwn.secret });
    const { meta: verified } = await api.chat(own, { visitor_token });
    const viewer = await system.sso.sign({ ...memberClaims(system, own), roles: ["parley-viewer"] });
    const { body } = await api.call({ path: "/api/conversations/", headers: bearer(viewer) });
    const { conversations } = body as { conversations: { id: string; visitor_verified: boolean }[] };
    expect(new Map(conversations.map((each) => [each.id, each.visitor_verified]))).toEqual(
      new Map([
        [claimed?.session_id, false],
        [anonymous?.session_id, false],
        [verified?.session_id, true],
      ]),
    );
    const { session } = await readTranscript(system, own, String(verified?.session_id));
    expect(session).not.toHaveProperty("visitor_verified");
  });

  describe("a token that is not valid", () => {
    test.each([
      ["expired", () => signToken("X", { expiresIn: "-1m" })],
      ["valid for 25 hours", () => signToken("X", { expiresIn: "25h" })],
      ["signed with another secret", () => signToken("X", { key: `${secret}x` })],
      ["empty", async () => ""],
    ])(
      "%s gets 401 from chat, stop, rating and history, before the session is looked up [D46/1] [D46/7] [D50/7]",
      async (_, sign) => {
        const session_id = randomUUID();
        const { meta } = await api.chat(tenant, { session_id, visitor_id: "Y" });
        const fields = { session_id, message_id: meta?.message_id, visitor_token: await sign() };
        const calls = system.provider.requests.length;
        const refusals = [
          await api.refusedChat(tenant, fields),
          await api.refusedChat(tenant, fields, { headers: { "idempotency-key": "k", "last-event-id": "1-0" } }),
          await rate(fields),
          await stop(fields),
          // An empty token in the header Authorization is none.
          await api.getHistory(tenant, fields.visitor_token || "x"),
          await api.getHistory(tenant, fields.visitor_token || "x", { session: session_id }),
        ];
        expect(refusals.map(formatRefusal)).toEqual(Array(6).fill(formatError(401, "invalid_visitor_token")));
        expect(system.provider.requests).toHaveLength(calls);
      },
    );

    test("a token of another type gets 400 invalid_message [D46/1]", async () => {
      const fields = { session_id: randomUUID(), message_id: 1, visitor_token: 1 };
      for (const answer of [await api.refusedChat(tenant, fields), await rate(fields), await stop(fields)])
        expect(formatRefusal(answer)).toBe(formatError(400, "invalid_message"));
    });
  });

  test("a public key can require a token [D46/7]", async () => {
    const strict = await addKey(system, tenant, ["strict.example"]);
    await system.admin.keys.updateKey({ publicKey: strict.publicKey, identity: "required" });
    const fields = { session_id: randomUUID(), message_id: 1 };
    const refusals = [
      await api.refusedChat(strict, { ...fields, visitor_id: "X" }),
      await post("/api/chat/rating/", strict, { ...fields, rating: "up" }),
      await stop(fields, strict),
    ];
    expect(refusals.map(formatRefusal)).toEqual(Array(3).fill(formatError(401, "visitor_token_required")));
    expect((await api.getConfig(strict)).status).toBe(200);
    expect((await api.chat(strict, { visitor_token: await signToken("X") })).done?.finish_reason).toBe("stop");
  });
}
