// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, expect, test } from "vitest";
import type { Tenant } from "../../system/system.ts";
import { newClientAddress, signVisitorToken } from "../../system/visitors.ts";
import { type Api, type ApiResponse, bearer } from "../support/api.ts";
import {
  addBot,
  type ContractSystem,
  createMemberToken,
  createVisitorWorkspace,
  formatError,
  formatRefusal,
  memberClaims,
  readTranscript,
  type VisitorWorkspace,
} from "../support/contract-system.ts";

const LINK = "https://shop.example/privacy";
const SETTINGS = { consentText: "We **store** this.", consentVersion: "2026-12", consentLink: LINK };
const GIVEN = { consent_version: "2026-12" };
/** A changed setting applies within 5 s. */
const APPLIED = { timeout: 10_000, interval: 200 };

const formatRequired = (version: string, text: string = SETTINGS.consentText, link = LINK) =>
  `403 ${JSON.stringify({ error: "consent_required", consent: { version, text, link } })}`;
const REQUIRED = formatRequired("2026-12");

export function consentSuite(shared: () => ContractSystem): void {
  let { system, api, tenant, secret } = {} as VisitorWorkspace;

  beforeAll(async () => {
    ({ system, api, tenant, secret } = await createVisitorWorkspace(shared()));
  });
  beforeEach(() => system.provider.reset());

  const update = ({ workspaceId, botSlug: slug }: Tenant, changes: object) =>
    system.admin.bots.updateBot({ workspaceId, slug, changes });
  async function addConsentBot(changes: object = {}): Promise<Tenant> {
    const bot = await addBot(system, tenant, randomUUID());
    await update(bot, { ...SETTINGS, ...changes });
    return bot;
  }
  const refusalOf = async (...request: Parameters<Api["refusedChat"]>) =>
    formatRefusal(await api.refusedChat(...request));
  async function send(bot: Tenant, fields: object, headers: Record<string, string> = {}) {
    const reply = await api.chat(bot, { ...fields }, headers);
    expect(reply.done?.finish_reason).toBe("stop");
    return reply;
  }
  const exportOf = async (session_id: string) =>
    (await api.exportTranscript(await createMemberToken(system, tenant), session_id)).status;
  const showSession = async (sessionId: string) => {
    const { workspaceId } = tenant;
    return (await system.admin.turns.listTurns({ workspaceId, sessionId })).session;
  };

  test.each<[string, Record<string, unknown>, Record<string, string>]>([
    ["no version", {}, {}],
    ["an old version", { consent_version: "2025-12" }, {}],
    ["an empty version", { consent_version: "" }, {}],
    ["no version, and an Idempotency-Key", {}, { "idempotency-key": "k" }],
    ["a visitor_id", { visitor_id: "x" }, {}],
  ])("with %s: 403, nothing is stored and no model is called [D51/1]", async (_, fields, headers) => {
    const bot = await addConsentBot();
    const session_id = randomUUID();
    for (let i = 0; i < 2; i++) expect(await refusalOf(bot, { session_id, ...fields }, { headers })).toBe(REQUIRED);
    expect(system.provider.requests).toHaveLength(0);
    expect(await exportOf(session_id)).toBe(404);
  });

  test("the same message is accepted with the version, also with the Idempotency-Key of the refused request [D51/2]", async () => {
    const bot = await addConsentBot();
    const session_id = randomUUID();
    const headers = { "idempotency-key": randomUUID() };
    expect(await refusalOf(bot, { session_id }, { headers })).toBe(REQUIRED);
    await send(bot, { session_id, ...GIVEN }, headers);
    await send(bot, { session_id });
    expect(await refusalOf(bot, { session_id: randomUUID() })).toBe(REQUIRED);
    await send(bot, { session_id: randomUUID(), ...GIVEN });
  });

  test("of concurrent requests with one key, only those without the version can be refused, and one turn is opened [D51/1] [D51/2]", async () => {
    const bot = await addConsentBot();
    const session_id = randomUUID();
    const headers = { "idempotency-key": randomUUID() };
    // The first request would open the turn, and the others wait for it.
    const responses = await Promise.all(
      [{}, {}, GIVEN, {}, GIVEN].map((fields) => api.openChat(bot, { session_id, ...fields }, { headers })),
    );
    await Promise.all(responses.map((response) => response.text()));
    expect([responses[2]?.status, responses[4]?.status]).toEqual([200, 200]);
    expect(system.provider.requests).toHaveLength(1);
  });

  test("a version that changes during a session is asked for again [D51/2] [D51/3]", async () => {
    const bot = await addConsentBot({ consentLink: "" });
    const session_id = randomUUID();
    await send(bot, { session_id, ...GIVEN });
    const first = await showSession(session_id);
    expect(first).toMatchObject({ consentVersion: "2026-12", consentedAt: first?.startedAt });
    await send(bot, { session_id, ...GIVEN });
    expect((await showSession(session_id))?.consentedAt).toBe(first?.consentedAt);
    await update(bot, { consentVersion: "2027-01" });
    const changed = formatRequired("2027-01", SETTINGS.consentText, "");
    // Other messages of the session would be accepted until the change applies.
    await expect.poll(() => refusalOf(bot, {}), APPLIED).toBe(changed);
    for (const fields of [{}, GIVEN]) expect(await refusalOf(bot, { session_id, ...fields })).toBe(changed);
    await send(bot, { session_id, consent_version: "2027-01" });
    const second = await showSession(session_id);
    expect(second?.consentVersion).toBe("2027-01");
    expect(second?.consentedAt).not.toBe(first?.consentedAt);
  });

  test("another visitor_id of a session needs a consent of its own, and an erased session has none [D51/3]", async () => {
    const bot = await addConsentBot();
    const session_id = randomUUID();
    await send(bot, { session_id, visitor_id: "x", ...GIVEN });
    expect(await refusalOf(bot, { session_id, visitor_id: "y" })).toBe(REQUIRED);
    await send(bot, { session_id, visitor_id: "y", ...GIVEN });
    const { workspaceId } = tenant;
    await system.admin.sessions.eraseSession({ workspaceId, sessionId: session_id });
    expect(await refusalOf(bot, { session_id })).toBe(formatError(404, "session_not_found"));
  });

  test("the refusals of the token and of the session precede the consent, those of the key and of the limit follow [D51/4]", async () => {
    const bot = await addConsentBot({ visitorMessagesPerDay: 1 });
    const visitor_token = await signVisitorToken(secret, "ada");
    const [address, other] = [newClientAddress(), newClientAddress()];
    const [session_id, claimed] = [randomUUID(), randomUUID()];
    const headers = { "idempotency-key": randomUUID() };
    // Refused messages do not count: the limit is 1.
    for (let i = 0; i < 3; i++) expect(await refusalOf(bot, { session_id, visitor_token }, { address })).toBe(REQUIRED);
    await send(bot, { session_id, visitor_token, ...GIVEN }, { ...headers, "x-forwarded-for": address });
    await send(bot, { session_id: claimed, visitor_id: "bob", ...GIVEN }, { "x-forwarded-for": other });
    await update(bot, { consentVersion: "2027-01" });
    const changed = formatRequired("2027-01");
    await expect.poll(() => refusalOf(bot, {}), APPLIED).toBe(changed);
    const refusals = [
      await refusalOf(bot, { session_id, visitor_token: "invalid" }),
      await refusalOf(bot, { session_id }),
      await refusalOf(bot, { session_id: claimed, visitor_token }),
      await refusalOf(bot, { session_id, visitor_token }, { address }),
      await refusalOf(bot, { session_id, visitor_token, message: "another" }, { headers }),
    ];
    expect(refusals).toEqual([
      formatError(401, "invalid_visitor_token"),
      formatError(404, "session_not_found"),
      formatError(409, "visitor_mismatch"),
      changed,
      changed,
    ]);
    const agreed = { session_id, visitor_token, consent_version: "2027-01" };
    expect(await refusalOf(bot, { ...agreed, message: "another" }, { headers })).toBe(
      formatError(409, "idempotency_key_reused"),
    );
    expect(await refusalOf(bot, agreed, { address })).toBe(formatError(429, "visitor_limit"));
  });

  test("a repeated request and a resumed reply need no consent [D51/5]", async () => {
    const bot = await addConsentBot();
    const session_id = randomUUID();
    const headers = { "idempotency-key": randomUUID() };
    const { text, events } = await send(bot, { session_id, ...GIVEN }, headers);
    const [, token] = events;
    await update(bot, { consentVersion: "2027-01" });
    await expect.poll(() => refusalOf(bot, { session_id }), APPLIED).toBe(formatRequired("2027-01"));
    const calls = system.provider.requests.length;
    expect((await send(bot, { session_id }, headers)).text).toBe(text);
    const resume = { ...headers, "last-event-id": token?.id ?? "" };
    expect((await send(bot, { session_id }, resume)).text).toBe(text.slice(String(token?.data.text).length));
    expect(system.provider.requests).toHaveLength(calls);
    const unknown = { "idempotency-key": randomUUID(), "last-event-id": token?.id ?? "" };
    expect(await refusalOf(bot, { session_id }, { headers: unknown })).toBe(formatError(404, "turn_not_found"));
  });

  test("the text is in the first accepted language that the bot has one for [D51/6]", async () => {
    const texts = { values: { de: { consentText: "Wir speichern." } } };
    const bot = await addConsentBot({ texts });
    const textIn = async (language: string) => refusalOf(bot, {}, { headers: { "accept-language": language } });
    expect(await textIn("fr, de-CH;q=0.5")).toBe(formatRequired("2026-12", "Wir speichern."));
    expect(await textIn("fr")).toBe(REQUIRED);
    expect((await api.getConfig(bot)).text).not.toContain("speichern");
  });

  test("the playground is not asked, and neither the configuration nor the exports have the consent [D51/7]", async () => {
    const bot = await addConsentBot();
    const member = await createMemberToken(system, tenant);
    const fields = { bot_slug: bot.botSlug, session_id: randomUUID() };
    expect((await api.playground(member, fields)).done?.finish_reason).toBe("stop");
    expect((await api.getConfig(bot)).text).not.toMatch(/consent/);
    const session_id = randomUUID();
    await send(bot, { session_id, ...GIVEN });
    expect(JSON.stringify(await readTranscript(system, tenant, session_id))).not.toMatch(/consent/);
    const viewer = await system.sso.sign({ ...memberClaims(system, tenant), roles: ["parley-viewer"] });
    const { text } = await api.call({ path: "/api/conversations/", headers: bearer(viewer) });
    expect(text).toContain(session_id);
    expect(text).not.toMatch(/consent/);
  });

  test("a bot without consent ignores the version, and a malformed version gets 400 [D51/8]", async () => {
    const bot = await addBot(system, tenant, randomUUID());
    const session_id = randomUUID();
    await send(bot, { session_id, consent_version: "any" });
    expect(await showSession(session_id)).toMatchObject({ consentVersion: "", consentedAt: "" });
    for (const consent_version of [1, null, "x".repeat(65)]) {
      const answer: ApiResponse = await api.refusedChat(bot, { consent_version });
      expect(formatRefusal(answer)).toBe(formatError(400, "invalid_message"));
      expect(answer.headers.get("parley-error-field")).toBe("consent_version");
    }
  });

  test("a deleted bot refuses the key, also with the version [D51/4]", async () => {
    const bot = await addConsentBot();
    await send(bot, GIVEN);
    const { workspaceId, botSlug: slug } = bot;
    await system.admin.bots.deleteBot({ workspaceId, slug });
    for (const fields of [{}, GIVEN])
      await expect.poll(() => refusalOf(bot, fields), APPLIED).toBe(formatError(401, "invalid_api_key"));
  });

  test("of 200 first messages without consent at once, none is stored or reaches a model [D51/1]", async () => {
    const bot = await addConsentBot();
    const sessions = Array.from({ length: 200 }, () => randomUUID());
    const refusals = await Promise.all(sessions.map((session_id) => refusalOf(bot, { session_id })));
    expect(refusals).toEqual(Array(200).fill(REQUIRED));
    expect(system.provider.requests).toHaveLength(0);
    const { workspaceId, botSlug } = bot;
    expect((await system.admin.sessions.listSessions({ workspaceId, botSlug })).sessions).toEqual([]);
  });
}
