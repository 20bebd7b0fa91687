import { randomBytes, randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { PatternThreadPool } from "@parley/bot-rules/moderation";
import { FindTurnRequestSchema, OpenTurnRequestSchema } from "@parley/rpc/conversation";
import { createLogger, Lifecycle, Registry } from "@parley/service-kit";
import { recordStatements } from "@parley/service-kit/testing";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createBotConfigCache, type GetBotConfig } from "../bots/bot-configs.service.ts";
import { DEFAULT_DISPLAY } from "../bots/bot-settings.ts";
import { type Bot, deleteBot, updateBot } from "../bots/bots.store.ts";
import { createClosedTurnCounter } from "../metrics.ts";
import { eraseSession } from "../sessions/erase-session.store.ts";
import { deleteSession, findSession } from "../sessions/sessions.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot, newClosing, newOpenRequest, type OpenRequest } from "../testing/turns.ts";
import { createCapReached } from "./cap-reached.ts";
import { closeTurn } from "./close-turn.store.ts";
import { handleFindTurn } from "./find-turn.rpc.ts";
import { handleOpenTurn, type OpenTurnDeps } from "./open-turn.rpc.ts";

const CONSENT = { version: "2", text: "We **store** this.", link: "https://shop.example/privacy" };
const REQUIRED = { consentRequired: CONSENT };
const GIVEN = { consentVersion: "2" };

const log = createLogger("test", "silent");
const lifecycle = new Lifecycle(log);
const patternThreads = new PatternThreadPool({ registry: new Registry(), log, lifecycle });
/** The search that sends a message to the model of the embeddings. */
const searches = vi.fn(async () => ({ passages: [], result: undefined }));
let db: TestDatabase;
let bot: Bot;
/** Reads the bot's configuration from the database, without a cache. */
let botConfigs: GetBotConfig;

beforeAll(async () => {
  db = await createTestDatabase();
  botConfigs = async (...key) => {
    const config = await createBotConfigCache(db.database)(...key);
    return config && { ...config, knowledge: { chunks: 1, languages: [], hasEmbeddings: true } };
  };
});
afterAll(async () => {
  await lifecycle.close();
  await db.drop();
});
beforeEach(async () => {
  searches.mockClear();
  bot = await createBot(db.database, {
    consentText: CONSENT.text,
    consentVersion: CONSENT.version,
    consentLink: CONSENT.link,
    display: {
      ...DEFAULT_DISPLAY,
      texts: { de: { welcomeMessage: "", quickReplies: [], words: {}, fallback: "", consentText: "Wir speichern." } },
    },
  });
});

const newKey = () => ({ keyHash: randomBytes(32), requestHash: randomBytes(32) });

async function open(request: Partial<OpenRequest> = {}, database = db.database, from = bot) {
  const deps = {
    database,
    botConfigs,
    patternThreads,
    semanticSearch: { search: searches },
    capReached: createCapReached(() => 0),
    counter: createClosedTurnCounter(new Registry()),
  } as unknown as OpenTurnDeps;
  return handleOpenTurn(deps, create(OpenTurnRequestSchema, newOpenRequest(from, request)));
}

/** Opens and closes a turn. Returns its request. */
async function run(request: Partial<OpenRequest>): Promise<OpenRequest> {
  const opening = newOpenRequest(bot, request);
  expect(await open(opening)).toMatchObject({ messageId: expect.any(BigInt) });
  await closeTurn(db.database, newClosing(opening));
  return opening;
}

async function readConsent(sessionId: string) {
  const { consentVersion, consentedAt } = (await findSession(db.database, bot.workspaceId, sessionId)) ?? {};
  return { consentVersion, consentedAt };
}

async function countRows(): Promise<number> {
  const { rows } = await db.admin.query(
    `SELECT (SELECT count(*) FROM conversation.sessions WHERE workspace_id = $1)
          + (SELECT count(*) FROM conversation.turns WHERE workspace_id = $1)
          + (SELECT count(*) FROM conversation.messages WHERE workspace_id = $1)
          + (SELECT count(*) FROM conversation.session_visitors WHERE workspace_id = $1) AS rows`,
    [bot.workspaceId],
  );
  return Number(rows[0]?.rows);
}

test.each<[string, Partial<OpenRequest>]>([
  ["no version", {}],
  ["an old version", { consentVersion: "1" }],
  ["no version, and a key", newKey()],
  ["a verified visitor", { visitorId: "x", visitorVerified: true }],
])("OpenTurn with %s stores nothing, searches with no model and returns the consent", async (_, request) => {
  expect(await open(request)).toEqual(REQUIRED);
  expect(searches).not.toHaveBeenCalled();
  expect(await countRows()).toBe(0);
});

test("of 200 concurrent first messages without a consent, none is stored", async () => {
  const sessionId = randomUUID();
  const opened = await Promise.all(
    Array.from({ length: 200 }, (_, n) => open({ ...(n % 2 === 0 && { sessionId }), ...(n % 3 === 0 && newKey()) })),
  );
  expect(opened).toEqual(Array(200).fill(REQUIRED));
  expect(searches).not.toHaveBeenCalled();
  expect(await countRows()).toBe(0);
});

test("the text is in the first language of the visitor that the bot has one for", async () => {
  const german = { ...CONSENT, text: "Wir speichern." };
  expect(await open({ acceptLanguage: "fr,de-AT;q=0.8" })).toEqual({ consentRequired: german });
  expect(await open({ acceptLanguage: "fr" })).toEqual(REQUIRED);
});

test("a session keeps the version and the time of the first message that had it, and needs no further one", async () => {
  const { sessionId } = await run(GIVEN);
  const first = await readConsent(sessionId);
  expect(first).toEqual({ consentVersion: "2", consentedAt: expect.any(Date) });
  await run({ sessionId });
  await run({ sessionId, ...GIVEN });
  await run({ sessionId, consentVersion: "1" });
  expect(await readConsent(sessionId)).toEqual(first);
  expect(await open()).toEqual(REQUIRED);
});

test("a changed version asks again, and replaces the session's version and time", async () => {
  const { sessionId } = await run(GIVEN);
  const first = await readConsent(sessionId);
  await updateBot(db.database, bot.workspaceId, bot.slug, { consentVersion: "3", display: {} });
  for (const request of [{ sessionId }, { sessionId, ...GIVEN }])
    expect(await open(request)).toEqual({ consentRequired: { ...CONSENT, version: "3" } });
  await run({ sessionId, consentVersion: "3" });
  const second = await readConsent(sessionId);
  expect(second.consentVersion).toBe("3");
  expect(Number(second.consentedAt)).toBeGreaterThan(Number(first.consentedAt));
});

test("the consent of another visitor does not count, and that of the visitor who gets the session does", async () => {
  const { sessionId } = await run(GIVEN);
  await run({ sessionId, visitorId: "x" });
  const ofX = await readConsent(sessionId);
  expect(await open({ sessionId, visitorId: "y" })).toEqual(REQUIRED);
  await run({ sessionId, visitorId: "y", ...GIVEN });
  const ofY = await readConsent(sessionId);
  expect(Number(ofY.consentedAt)).toBeGreaterThan(Number(ofX.consentedAt));
  expect(await open({ sessionId, visitorId: "x" })).toEqual(REQUIRED);
});

test("the consent of a session does not count for a message that the session refuses", async () => {
  const verified = await run({ visitorId: "x", visitorVerified: true, ...GIVEN });
  const deleted = await run(GIVEN);
  await deleteSession(db.database, bot.workspaceId, deleted.sessionId);
  searches.mockClear();
  for (const { sessionId } of [verified, deleted])
    await expect(open({ sessionId })).rejects.toMatchObject({ code: "session_not_found" });
  expect(searches).not.toHaveBeenCalled();
});

test("a new visitor of a bot without consent removes the session's consent", async () => {
  const { sessionId } = await run({ visitorId: "x", ...GIVEN });
  await updateBot(db.database, bot.workspaceId, bot.slug, { consentText: "", display: {} });
  await run({ sessionId, visitorId: "x" });
  expect((await readConsent(sessionId)).consentVersion).toBe("2");
  await run({ sessionId, visitorId: "y" });
  expect(await readConsent(sessionId)).toEqual({ consentVersion: "", consentedAt: null });
});

test("a bot without consent stores none, and neither does the playground", async () => {
  const playground = { source: "playground", visitorId: "member" };
  const { sessionId } = await run({ ...playground, ...GIVEN });
  expect(await readConsent(sessionId)).toEqual({ consentVersion: "", consentedAt: null });
  await updateBot(db.database, bot.workspaceId, bot.slug, { consentText: "", display: {} });
  const plain = await run(GIVEN);
  expect((await readConsent(plain.sessionId)).consentVersion).toBe("");
});

test("an erased session has no consent", async () => {
  const { sessionId } = await run(GIVEN);
  await eraseSession(db.database, bot.workspaceId, sessionId);
  const { rows } = await db.admin.query(
    "SELECT consent_version, consented_at FROM conversation.sessions WHERE session_id = $1",
    [sessionId],
  );
  expect(rows).toEqual([{ consent_version: null, consented_at: null }]);
});

test("the refusals of the session precede the consent, and that of the key follows it; a repeated request needs none", async () => {
  const keyed = newKey();
  const opening = await run({ visitorId: "x", ...keyed, ...GIVEN });
  const { sessionId, turnId } = opening;
  const deleted = await run(GIVEN);
  await deleteSession(db.database, bot.workspaceId, deleted.sessionId);
  const verified = await run({ visitorId: "v", visitorVerified: true, ...GIVEN });
  const reused = { ...keyed, requestHash: randomBytes(32) };
  await updateBot(db.database, bot.workspaceId, bot.slug, { consentVersion: "3", display: {} });
  const find = async (request: Partial<OpenRequest>) => {
    const { workspaceId, id: botId } = bot;
    const fields = { workspaceId, botId, source: "widget", opensTurn: true, ...request };
    return handleFindTurn({ database: db.database, botConfigs }, create(FindTurnRequestSchema, fields));
  };
  const refused: [Partial<OpenRequest>, code: string][] = [
    [{ sessionId: deleted.sessionId }, "session_not_found"],
    [{ sessionId: deleted.sessionId, ...newKey() }, "session_not_found"],
    [{ sessionId: verified.sessionId }, "session_not_found"],
    [{ sessionId, visitorId: "y", visitorVerified: true }, "visitor_mismatch"],
  ];
  for (const [request, code] of refused) {
    await expect(open(request)).rejects.toMatchObject({ code });
    await expect(find(request)).rejects.toMatchObject({ code });
  }
  for (const request of [{ sessionId, ...reused }, { sessionId, ...newKey() }, { sessionId: randomUUID() }]) {
    const required = { consentRequired: { ...CONSENT, version: "3" } };
    expect(await open(request)).toEqual(required);
    expect(await find(request)).toEqual(required);
  }
  searches.mockClear();
  expect(await open({ sessionId, ...keyed })).toMatchObject({ existing: { turnId } });
  expect(await find({ sessionId, ...keyed })).toMatchObject({ turn: { turnId } });
  // The response to the first call was lost.
  expect(await open({ ...opening, consentVersion: "" })).toMatchObject({ messageId: expect.any(BigInt) });
  expect(searches).not.toHaveBeenCalled();
  const agreed = { sessionId, consentVersion: "3" };
  await expect(open({ ...agreed, ...reused })).rejects.toMatchObject({ code: "idempotency_key_reused" });
  await expect(find({ ...agreed, ...reused })).rejects.toMatchObject({ code: "idempotency_key_reused" });
  await expect(find({ ...agreed, ...newKey() })).rejects.toMatchObject({ code: "turn_not_found" });
});

test("a deleted bot is not found, whether or not the request has a consent", async () => {
  await deleteBot(db.database, bot.workspaceId, bot.slug);
  for (const request of [{}, GIVEN]) await expect(open(request)).rejects.toMatchObject({ code: "bot_not_found" });
});

test("a consent costs a statement only if the bot asks for it and the message does not have it", async () => {
  const plain = await createBot(db.database);
  const { sessionId } = await run(GIVEN);
  const config = await botConfigs(bot.workspaceId, bot.id);
  const plainConfig = await botConfigs(plain.workspaceId, plain.id);
  const read = botConfigs;
  botConfigs = async (workspaceId) => (workspaceId === plain.workspaceId ? plainConfig : config);
  const countStatements = async (request: Partial<OpenRequest>, from: Bot) =>
    (await recordStatements(db.database, (database) => open(request, database, from))).length;
  const withoutConsent = await countStatements({}, plain);
  expect(await countStatements(GIVEN, bot)).toBe(withoutConsent);
  expect(await countStatements({ sessionId }, bot)).toBe(withoutConsent + 1);
  botConfigs = read;
});
