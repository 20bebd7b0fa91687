// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { databaseOf, queryFirstRow } from "../../system/database.ts";
import { createTenant, type Tenant } from "../../system/system.ts";
import { newClientAddress, signVisitorToken } from "../../system/visitors.ts";
import { type Api, type ApiRequest, type ApiResponse, bearer } from "../support/api.ts";
import {
  addIdentityKey,
  type ContractSystem,
  formatDetail,
  formatError,
  formatRefusal,
  memberClaims,
  readTranscript,
  UNKNOWN_KEY,
} from "../support/contract-system.ts";

const EMAIL = "ada@example.com";
const MESSAGE = "Please write to me.";

export function contactMessagesSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;
  let owner: ReturnType<typeof bearer>;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin, { plan: "scale" });
    await enableHandoff(tenant);
    owner = bearer(await system.sso.sign({ ...memberClaims(system, tenant), roles: ["parley-owner"] }));
  });

  const enableHandoff = ({ workspaceId, botSlug: slug }: Tenant) =>
    system.admin.bots.updateBot({ workspaceId, slug, changes: { handoffEnabled: true } });
  const request = (fields: object, of = tenant): ApiRequest => ({
    method: "POST",
    path: "/api/chat/contact/",
    headers: { origin: of.origin },
    body: { public_key: of.publicKey, email: EMAIL, message: MESSAGE, ...fields },
  });
  const leave = (fields: object, of = tenant) => api.call(request(fields, of));
  const expectOk = (response: ApiResponse) => {
    expect(response.status, response.text).toBe(200);
    return response.body as Record<string, unknown>;
  };
  const listed = async (session: string) => {
    const { conversations } = expectOk(await api.call({ path: "/api/handoffs/", headers: owner })) as {
      conversations: { id: string; since: string; contact?: { id: string; created_at: string } }[];
    };
    return conversations.find(({ id }) => id === session);
  };

  const change = (session: string, body: object) =>
    api.call({ method: "POST", path: `/api/conversations/${session}/handoff/`, headers: owner, body });
  /** Ends the wait for an e-mail. Returns whether the visitor still waits. */
  const finish = async (session: string, contact_id: string) =>
    expectOk(await change(session, { action: "contact_done", contact_id })).contact_pending;

  async function startSession(of = tenant, fields: object = {}): Promise<string> {
    const session_id = randomUUID();
    expect((await api.chat(of, { session_id, ...fields })).done?.finish_reason).toBe("stop");
    return session_id;
  }

  test("a visitor leaves a message for the team, which finds it in the list until it is done [D53/15] [D53/17]", async () => {
    const session = await startSession();
    const request_id = randomUUID();
    for (let sent = 0; sent < 2; sent++)
      expect(expectOk(await leave({ session_id: session, request_id }))).toEqual({
        state: "bot",
        reason: "",
        expires_in_ms: 0,
        contact_pending: true,
      });
    const item = await listed(session);
    expect(item).toMatchObject({
      contact: { id: request_id, email: EMAIL, excerpt: MESSAGE },
      handoff: { contact_pending: true },
    });
    expect(item?.since).toBe(item?.contact?.created_at);
    const asked = await api.call({ ...request({ session_id: session }), path: "/api/chat/handoff/" });
    expect(expectOk(asked)).toMatchObject({ state: "requested", contact_pending: true });
    const resolved = await change(session, { action: "resolve" });
    expect(expectOk(resolved)).toMatchObject({ state: "bot", contact_pending: true });
    expect(await finish(session, request_id.toUpperCase())).toBe(false);
    expect(await finish(session, request_id)).toBe(false);
    expect(await listed(session)).toBeUndefined();

    // The bot does not read it.
    const { messages, session: transcript } = await readTranscript(system, tenant, session);
    expect(messages).toHaveLength(2);
    expect(transcript).not.toHaveProperty("contact_messages");
    // Exports have conversations that are a minute old.
    const age =
      "UPDATE conversation.sessions SET started_at = now() - interval '2 minutes' WHERE workspace_id = $1 AND session_id = $2 RETURNING session_id";
    await queryFirstRow(databaseOf(system, tenant.workspaceId), age, [tenant.workspaceId, session]);
    const { text } = await api.call({ path: "/api/conversations/export.ndjson", headers: owner });
    const [line] = text.split("\n").filter((each) => each.includes(session));
    expect(JSON.parse(line ?? "").session.contact_messages).toMatchObject([
      { id: request_id, email: EMAIL, message: MESSAGE },
    ]);
    const { text: csv } = await api.call({ path: "/api/conversations/export.csv", headers: owner });
    expect(csv).toContain(session);
    expect(csv).not.toContain(EMAIL);
  });

  test("the team is done with the messages that it names, and a later one stays open [D53/17]", async () => {
    const session_id = await startSession();
    const [first, second] = [randomUUID(), randomUUID()];
    for (const request_id of [first, second]) expectOk(await leave({ session_id, request_id }));
    expect(await finish(session_id, first)).toBe(true);
    expect(await listed(session_id)).toMatchObject({ contact: { id: second } });
    expect(await finish(session_id, second)).toBe(false);
    expect(await listed(session_id)).toBeUndefined();
    for (const contact_id of [undefined, "x", 1]) {
      const refused = await change(session_id, { action: "contact_done", contact_id });
      expect(formatRefusal(refused)).toBe(formatDetail(400, "invalid_message"));
      expect(refused.headers.get("parley-error-field")).toBe("contact_id");
    }
  });

  test("a session has at most 3 messages, and a bot without the handoff none [D53/15]", async () => {
    const session_id = await startSession();
    for (let sent = 0; sent < 3; sent++) expectOk(await leave({ session_id }));
    expect(formatRefusal(await leave({ session_id }))).toBe(formatError(409, "contact_limit_reached"));
    const off = await createTenant(system.admin);
    expect(formatRefusal(await leave({ session_id: await startSession(off) }, off))).toBe(
      formatError(409, "handoff_off"),
    );
  });

  test("a session without the bot's consent has none until the visitor agrees to it [D53/15]", async () => {
    const own = await createTenant(system.admin);
    await enableHandoff(own);
    const session_id = await startSession(own);
    const consent = { consentText: "We store this.", consentVersion: "1" };
    await system.admin.bots.updateBot({ workspaceId: own.workspaceId, slug: own.botSlug, changes: consent });
    // The service reads the bot's settings again after a second. Until then a new session needs no consent.
    const askedIn = async (id: string) => (await api.refusedChat(own, { session_id: id })).status;
    await expect.poll(() => askedIn(randomUUID()), { timeout: 10_000, interval: 200 }).toBe(403);
    expect(formatRefusal(await leave({ session_id }, own))).toBe(formatError(409, "consent_required"));
    expect((await api.chat(own, { session_id, consent_version: "1" })).done?.finish_reason).toBe("stop");
    expectOk(await leave({ session_id }, own));
  });

  test("a message may have 4,000 characters of any script, with an address of 254 [D53/16]", async () => {
    const session_id = await startSession();
    const email = `a@${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(63)}.${"e".repeat(57)}.de`;
    expect(email).toHaveLength(254);
    expectOk(await leave({ session_id, email, message: "😀".repeat(4_000) }));
    expect((await leave({ session_id, email: `a${email}` })).status).toBe(400);
  });

  test("the refusals name the field, and are otherwise those of a request for a person [D53/16]", async () => {
    const session_id = await startSession();
    const refusals = [
      [{ email: "ada@localhost" }, "invalid_email", "email"],
      [{ email: "ada@example.com, ben@example.com" }, "invalid_email", "email"],
      [{ email: "" }, "invalid_email", "email"],
      [{ email: 1 }, "invalid_message", "email"],
      [{ email: undefined }, "invalid_message", "email"],
      [{ message: " " }, "invalid_message", "message"],
      [{ message: "店".repeat(4_001) }, "message_too_long", "message"],
      [{ message: "店".repeat(4_001), email: "x" }, "message_too_long", "message"],
      [{ request_id: "x" }, "invalid_message", "request_id"],
      [{ session_id: "x" }, "invalid_session_id", "session_id"],
    ] as const;
    for (const [fields, code, field] of refusals) {
      const refused = await leave({ session_id, ...fields });
      expect(formatRefusal(refused)).toBe(formatError(400, code));
      expect(refused.headers.get("parley-error-field")).toBe(field);
    }
    const send = (changes: Partial<ApiRequest>) => api.call({ ...request({ session_id }), ...changes });
    const others = [
      await send({ body: "{" }),
      await leave({ session_id, public_key: UNKNOWN_KEY }),
      await send({ headers: { origin: "https://other.example" } }),
      await leave({ session_id: randomUUID() }),
      await send({ body: `${" ".repeat(65_536)}{}` }),
      await send({ method: "PUT" }),
    ];
    expect(others.map(({ status }) => status)).toEqual([400, 401, 403, 404, 413, 405]);
    const path = "/api/chat/contact/";
    const preflight = { "access-control-request-method": "POST", origin: tenant.origin };
    expect((await api.call({ method: "OPTIONS", path, headers: preflight })).status).toBe(204);
    expect((await api.call({ method: "OPTIONS", path })).status).toBe(405);
    const address = newClientAddress();
    const limited: ApiResponse[] = [];
    for (let sent = 0; sent < 61; sent++) limited.push(await send({ address }));
    expect(limited.slice(0, 4).map(({ status }) => status)).toEqual([200, 200, 200, 409]);
    const [above = expect.fail(), last = expect.fail()] = [limited[50], limited[60]];
    expect(formatRefusal(above)).toBe(formatError(429, "visitor_limit"));
    expect(above.headers.get("ratelimit-policy")).toBe('"contact";q=50;w=86400');
    expect(Number(above.headers.get("retry-after"))).toBeGreaterThan(86_000);
    expect(formatRefusal(last)).toBe(formatError(429, "rate_limited"));
  });

  test("a workspace has at most 1,000 messages of a UTC day [D53/16]", async () => {
    const own = await createTenant(system.admin);
    await enableHandoff(own);
    const stored = { session_id: await startSession(own), request_id: randomUUID() };
    expectOk(await leave(stored, own));
    const fill = "UPDATE conversation.refusal_counts SET turns = 1000 WHERE workspace_id = $1 RETURNING outcome";
    await queryFirstRow(databaseOf(system, own.workspaceId), fill, [own.workspaceId]);
    const refused = await leave({ session_id: await startSession(own) }, own);
    expect(formatRefusal(refused)).toBe(formatError(429, "rate_limited"));
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(86_400);
    expectOk(await leave(stored, own));
  });

  test("nobody leaves a message in a verified visitor's session but this visitor [D53/16]", async () => {
    const own = await createTenant(system.admin, { plan: "scale" });
    await enableHandoff(own);
    const visitor_token = await signVisitorToken(await addIdentityKey(system, own), "ada");
    const verified = await startSession(own, { visitor_token });
    const claimed = await startSession(own, { visitor_id: "ben" });
    expect(formatRefusal(await leave({ session_id: verified }, own))).toBe(formatError(404, "session_not_found"));
    expect(formatRefusal(await leave({ session_id: claimed, visitor_token }, own))).toBe(
      formatError(409, "visitor_mismatch"),
    );
    expectOk(await leave({ session_id: verified, visitor_token }, own));
  });
}
