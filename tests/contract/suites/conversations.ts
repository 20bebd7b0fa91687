// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { queryFirstRow } from "../../system/database.ts";
import { createTenant, type Tenant } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";
import { type Api, type ApiResponse, bearer, exportPath } from "../support/api.ts";
import {
  addBot,
  type ContractSystem,
  createMemberToken,
  formatDetail,
  formatError,
  formatRefusal,
  memberClaims,
  readTranscript,
} from "../support/contract-system.ts";

type Conversation = { id: string; message_count: number; rating: string } & Record<string, unknown>;
type Page = { conversations: Conversation[]; next_cursor: string | null };

const LIST = "/api/conversations/";
const NDJSON = "/api/conversations/export.ndjson";
const CSV = "/api/conversations/export.csv";
const ERASE = "/api/conversations/erase/";
const deletePath = (id: string) => `/api/conversations/${id}/`;

export function conversationsSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;
  let other: Tenant;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    [tenant, other] = [await createTenant(system.admin), await createTenant(system.admin)];
    // No list of another tenant may contain this conversation.
    await api.chat(other, { visitor_id: "v-other" });
  });

  /** Signs a token for a user, by default a new user. With the role "none", the token contains no role that Parley knows. */
  const token = (of: Tenant, role: "owner" | "viewer" | "none" = "viewer", user?: string) =>
    system.sso.sign({ ...memberClaims(system, of, user), roles: ["staff", `parley-${role}`] });

  const get = async (path: string, of = tenant) => api.call({ path, headers: bearer(await token(of)) });
  const list = async (parameters: string, of = tenant) => {
    const answer = await get(`${LIST}${parameters}`, of);
    expect(answer.status, answer.text).toBe(200);
    return answer.body as Page;
  };
  const idsOf = ({ conversations }: Page) => conversations.map(({ id }) => id);

  async function startConversation(fields: Record<string, unknown> = {}, of = tenant) {
    const session_id = randomUUID();
    const { meta } = await api.chat(of, { session_id, ...fields });
    return { session_id, message_id: meta?.message_id };
  }

  /** Exports omit conversations that started in the last minute. */
  const backdateSessions = ({ workspaceId }: Tenant) =>
    queryFirstRow(
      system.database,
      "UPDATE conversation.sessions SET started_at = started_at - interval '2 minutes' WHERE workspace_id = $1",
      [workspaceId],
    );

  type Line = {
    session: { id: string };
    messages: Record<"rating_reason" | "review" | "finish_detail" | "rag_chunks_cited" | "sources", unknown>[];
    cursor: string;
  };

  const linesOf = (text: string) =>
    text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Line);

  const withoutOwnerFields = ({ session, messages }: Omit<Line, "cursor">) => ({
    session: { ...session, contact_messages: undefined },
    messages: messages.map(
      ({ review: _, finish_detail: __, rating_reason: ___, rag_chunks_cited: ____, sources: _____, ...message }) =>
        message,
    ),
  });

  const send = async (method: string, path: string, body?: object) =>
    api.call({ method, path, headers: bearer(await token(tenant, "owner")), ...(body && { body }) });

  describe("the list", () => {
    test("the list starts with the newest activity; each conversation has its session's fields, message count, rating, review and excerpt [D40/1]", async () => {
      const own = await createTenant(system.admin);
      const message = `Is tea here? ${"x".repeat(200)}`;
      const first = await startConversation({ visitor_id: "v-1", visitor_metadata: { a: 1 }, message }, own);
      const second = await startConversation({}, own);
      await api.chat(own, { session_id: first.session_id });
      await api.rateMessage(own, { ...first, rating: "down" });
      const { conversations, next_cursor } = await list("", own);
      expect(next_cursor).toBeNull();
      expect(conversations.map(({ id, message_count, rating }) => [id, message_count, rating])).toEqual([
        [first.session_id, 4, "down"],
        [second.session_id, 2, ""],
      ]);
      const { session } = await readTranscript(system, own, first.session_id);
      expect(conversations[0]).toEqual({
        ...session,
        visitor_verified: false,
        message_count: 4,
        rating: "down",
        review: "",
        excerpt: message.slice(0, 160),
      });
    });

    test("the list continues by cursor, with 20 conversations a page by default and at most 100 [D40/2]", async () => {
      const own = await createTenant(system.admin);
      const ids: string[] = [];
      for (let i = 0; i < 23; i++) ids.unshift((await startConversation({}, own)).session_id);
      const first = await list("", own);
      expect(idsOf(first)).toEqual(ids.slice(0, 20));
      const rest = await list(`?cursor=${encodeURIComponent(String(first.next_cursor))}`, own);
      expect([idsOf(rest), rest.next_cursor]).toEqual([ids.slice(20), null]);
      expect(idsOf(await list("?limit=100", own))).toEqual(ids);
      expect(idsOf(await list("?limit=1", own))).toEqual(ids.slice(0, 1));
    });

    test("the list filters by bot, source, time, visitor, rating, review and text [D40/3]", async () => {
      const own = await createTenant(system.admin);
      const bot = await addBot(system, own, "second");
      const a = await startConversation({ visitor_id: "v-a", message: "Where is my Größe 100%_parcel?" }, own);
      const b = await startConversation({}, bot);
      await api.rateMessage(own, { ...a, rating: "up" });
      const playground = randomUUID();
      await api.playground(await token(own), { bot_slug: own.botSlug, session_id: playground });
      const { conversations } = await list("", own);
      const [lastActivityOfB] = conversations
        .filter(({ id }) => id === b.session_id)
        .map((each) => each.last_activity_at);
      const found = async (parameters: string) => new Set(idsOf(await list(parameters, own)));
      expect(await found("?bot_slug=second")).toEqual(new Set([b.session_id]));
      expect(await found("?source=playground")).toEqual(new Set([playground]));
      expect(await found("?source=widget")).toEqual(new Set([a.session_id, b.session_id]));
      expect(await found("?visitor_id=v-a")).toEqual(new Set([a.session_id]));
      expect(await found("?rating=up")).toEqual(new Set([a.session_id]));
      expect(await found("?rating=down")).toEqual(new Set());
      const reviewed = {
        workspaceId: own.workspaceId,
        sessionId: a.session_id,
        messageId: BigInt(String(a.message_id)),
      };
      await system.admin.sessions.reviewMessage({ ...reviewed, review: "bad" });
      expect(await found("?review=bad")).toEqual(new Set([a.session_id]));
      expect(await found("?review=good")).toEqual(new Set());
      expect(await found(`?q=${encodeURIComponent("größe 100%_PARCEL")}`)).toEqual(new Set([a.session_id]));
      expect(await found("?q=no-such-text")).toEqual(new Set());
      // Some clients do not encode the plus sign of a time that they read from a response.
      expect(await found(`?since=${lastActivityOfB}`)).toEqual(new Set([b.session_id, playground]));
      expect(await found(`?until=${encodeURIComponent(String(lastActivityOfB))}`)).toEqual(new Set([a.session_id]));
      expect(await found("?bot_slug=second&rating=up")).toEqual(new Set());
    });
  });

  describe("parameters", () => {
    test("an unknown, repeated or invalid parameter gets 400 [D40/4]", async () => {
      const paths = [
        "?offset=1",
        "?limit=0",
        "?limit=101",
        "?limit=1&limit=2",
        "?source=email",
        "?rating=5",
        "?since=yesterday",
        "?cursor=x",
        `?q=${"x".repeat(201)}`,
        "?visitor_id=%00",
        "?__proto__=1",
      ].map((parameters) => `${LIST}${parameters}`);
      const exports = [NDJSON, CSV].flatMap((path) => [
        `${path}?limit=1`,
        `${path}?cursor=x`,
        `${path}?until=2026-02-30`,
        `${path}?source=email`,
        `${path}?rating=5`,
        `${path}?review=up`,
        `${path}?q=x`,
      ]);
      for (const path of [...paths, ...exports])
        expect(formatRefusal(await get(path)), path).toBe(formatDetail(400, "invalid_parameter"));
      const { session_id } = await startConversation();
      expect(formatRefusal(await send("DELETE", `${deletePath(session_id)}?hard=1`))).toBe(
        formatDetail(400, "invalid_parameter"),
      );
      expect(formatRefusal(await send("POST", `${ERASE}?visitor_id=v`, { visitor_id: "v" }))).toBe(
        formatDetail(400, "invalid_parameter"),
      );
      expect((await api.exportTranscript(await token(tenant), session_id)).status).toBe(200);
    });
  });

  describe("exports of all conversations", () => {
    test("the NDJSON export has one line per conversation in the format of a single conversation's export, ordered by the conversation's start [D40/5]", async () => {
      const own = await createTenant(system.admin);
      const ids = [];
      for (let i = 0; i < 5; i++) ids.push((await startConversation({}, own)).session_id);
      await backdateSessions(own);
      const recent = await startConversation({}, own);
      const answer = await get(NDJSON, own);
      expect(answer.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
      const lines = linesOf(answer.text);
      expect(lines.map((line) => line.session.id)).toEqual(ids);
      expect(answer.text).not.toContain(recent.session_id);
      for (const { cursor, ...line } of lines) {
        expect(withoutOwnerFields(line)).toEqual(await readTranscript(system, own, line.session.id));
        expect(cursor).not.toBe("");
      }
      const [, second] = lines;
      const rest = await get(`${NDJSON}?cursor=${second?.cursor}`, own);
      expect(linesOf(rest.text)).toEqual(lines.slice(2));
      expect((await get(`${NDJSON}?bot_slug=none`, own)).text).toBe("");
      expect((await get(`${NDJSON}?since=2100-01-01`, own)).text).toBe("");
      expect((await get(`${NDJSON}?until=2020-01-01`, own)).text).toBe("");
    });

    test("the NDJSON and CSV exports filter by bot, source, visitor, rating and review, and contain the reviews and the reasons of ratings [D27/3] [D40/5] [D40/14]", async () => {
      const own = await createTenant(system.admin);
      const bot = await addBot(system, own, "second");
      const a = await startConversation({ visitor_id: "v-a" }, own);
      const b = await startConversation({}, bot);
      await api.rateMessage(own, { ...a, rating: "up", reason: "=clear" });
      await system.admin.sessions.reviewMessage({
        ...{ workspaceId: own.workspaceId, sessionId: a.session_id, messageId: BigInt(String(a.message_id)) },
        review: "bad",
      });
      await backdateSessions(own);
      const found = async (parameters: string) => {
        const csv = (await get(`${CSV}?${parameters}`, own)).text.split("\r\n").slice(1, -1);
        const ids = linesOf((await get(`${NDJSON}?${parameters}`, own)).text).map((line) => line.session.id);
        expect([...new Set(csv.map((row) => row.split(",")[0]))]).toEqual(ids);
        return ids;
      };
      expect(await found("visitor_id=v-a")).toEqual([a.session_id]);
      expect(await found("rating=up")).toEqual([a.session_id]);
      expect(await found("review=bad")).toEqual([a.session_id]);
      expect(await found("bot_slug=second")).toEqual([b.session_id]);
      expect(await found("source=widget")).toEqual([a.session_id, b.session_id]);
      expect(await found("source=playground")).toEqual([]);
      expect(await found("rating=down")).toEqual([]);
      const [line] = linesOf((await get(`${NDJSON}?review=bad`, own)).text);
      expect(line?.messages.map(({ review }) => review)).toEqual(["", "bad"]);
      expect(line?.messages.map(({ rating_reason }) => rating_reason)).toEqual(["", "=clear"]);
      const csv = (await get(`${CSV}?review=bad`, own)).text;
      expect(csv).toMatch(/^[^\r]*,rating,rating_reason,review,model,/);
      expect(csv).toContain(",up,'=clear,bad,");
    });

    test("a download that is cut at random continues by its cursor, with no line lost or duplicated [D40/5] [D40/7]", async () => {
      const own = await createTenant(system.admin);
      await queryFirstRow(
        system.database,
        `WITH session AS (
           INSERT INTO conversation.sessions (workspace_id, session_id, bot_id, source, visitor_id, visitor_metadata, referrer, user_agent, started_at, last_activity_at, last_message_id, message_count)
           SELECT workspace_id, gen_random_uuid(), bot_id, 'widget', '', '{}', '', '', now() - interval '1 hour' + n / 2 * interval '1 second', now(), 4, 4
           FROM conversation.bots, generate_series(1, 300) n WHERE workspace_id = $1
           RETURNING *
         )
         INSERT INTO conversation.messages (workspace_id, session_id, message_id, turn_id, role, content, status, created_at)
         SELECT workspace_id, session_id, n, gen_random_uuid(), 'user', md5(session_id::text), 'done', now()
         FROM session, generate_series(1, 4) n`,
        [own.workspaceId],
      );
      const whole = linesOf((await get(NDJSON, own)).text);
      expect(whole).toHaveLength(300);
      /** Downloads from a cursor, disconnects once `bytes` bytes have arrived, and returns at most `bytes` bytes. */
      const cutDownload = async (cursor: string, bytes: number, encoding: string) => {
        const disconnect = new AbortController();
        const headers = { ...bearer(await token(own)), "accept-encoding": encoding };
        const response = await api.send({ path: `${NDJSON}?cursor=${cursor}`, headers, signal: disconnect.signal });
        expect(response.status).toBe(200);
        const chunks: Uint8Array[] = [];
        let length = 0;
        for await (const chunk of response.body ?? []) {
          chunks.push(chunk);
          length += chunk.length;
          if (length >= bytes) break;
        }
        disconnect.abort();
        return Buffer.concat(chunks).subarray(0, bytes).toString();
      };
      for (const encoding of ["identity", "gzip"]) {
        const kept: typeof whole = [];
        const lengths: number[] = [];
        while (kept.length < whole.length) {
          const bytes = 1 + Math.floor(Math.random() * 200_000);
          lengths.push(bytes);
          const text = await cutDownload(kept.at(-1)?.cursor ?? "", bytes, encoding);
          kept.push(...linesOf(text.slice(0, text.lastIndexOf("\n") + 1)));
        }
        // A cursor starts with an upper limit, a time before which all conversations of its export started. `whole` and `kept` have different limits.
        const withoutUpperLimit = ({ cursor, ...line }: (typeof whole)[number]) => ({
          ...line,
          position: cursor.split("-").slice(1),
        });
        expect(kept.map(withoutUpperLimit), `${encoding}, cut after ${lengths.join(", ")} bytes`).toEqual(
          whole.map(withoutUpperLimit),
        );
      }
    });

    test("the CSV export has one row per message and no cell that a spreadsheet would run as a formula [D40/6]", async () => {
      const own = await createTenant(system.admin);
      await startConversation({ visitor_id: "=1+1", message: '=HYPERLINK("https://evil.example","a")' }, own);
      await backdateSessions(own);
      const { text, headers } = await get(CSV, own);
      expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
      const [header = "", question = "", reply = "", end] = text.split("\r\n");
      expect(header).toMatch(/^session_id,bot_slug,source,visitor_id,.*,cursor$/);
      expect(question).toContain(`,'=1+1,`);
      expect(question).toContain(`,user,"'=HYPERLINK(""https://evil.example"",""a"")",`);
      expect(reply).toContain(",assistant,");
      expect(end).toBe("");
      const cursor = question.split(",").at(-1);
      expect((await get(`${CSV}?cursor=${cursor}`, own)).text).toBe(`${reply}\r\n`);
    });

    test("with `bom=1` the CSV export begins with a byte order mark, and its continuation does not [D40/15]", async () => {
      const own = await createTenant(system.admin);
      await startConversation({ message: "Grüße" }, own);
      await backdateSessions(own);
      const download = async (query: string, encoding: string) => {
        const headers = { ...bearer(await token(own)), "accept-encoding": encoding };
        return (await api.call({ path: `${CSV}?${query}`, headers })).text;
      };
      const plain = await download("", "identity");
      expect(plain).toMatch(/^session_id,/);
      // Reads bytes, because decoding as text removes the mark.
      for (const encoding of ["identity", "gzip"]) {
        const headers = { ...bearer(await token(own)), "accept-encoding": encoding };
        const response = await api.send({ path: `${CSV}?bom=1`, headers });
        const bytes = Buffer.from(await response.arrayBuffer());
        expect(bytes.subarray(0, 14).toString("latin1")).toBe("\xef\xbb\xbfsession_id,");
        expect(bytes.subarray(3).toString().split("\r\n")[0]).toBe(plain.split("\r\n")[0]);
      }
      const cursor = plain.split("\r\n")[1]?.split(",").at(-1);
      expect(await download(`bom=1&cursor=${cursor}`, "identity")).not.toContain("session_id");
      for (const path of [`${CSV}?bom=2`, `${NDJSON}?bom=1`]) expect((await get(path, own)).status, path).toBe(400);
    });

    test("an export is compressed if the client accepts gzip [D40/7]", async () => {
      await backdateSessions(other);
      const compressed = await get(NDJSON, other);
      expect(compressed.headers.get("content-encoding")).toBe("gzip");
      const headers = { ...bearer(await token(other)), "accept-encoding": "identity" };
      const identity = await api.call({ path: NDJSON, headers });
      expect(identity.headers.get("content-encoding")).toBeNull();
      // Each cursor contains an upper limit, a time before which all conversations of its export started. The two exports have different limits.
      const withoutCursors = (text: string) => linesOf(text).map(({ cursor: _, ...line }) => line);
      expect(withoutCursors(identity.text)).toEqual(withoutCursors(compressed.text));
    });

    test("a user may start 10 exports a minute, and a workspace may have two open exports [D40/8]", async () => {
      const own = await createTenant(system.admin);
      // The export is 40 MB long, more than the connection's buffers, so it stays open while the test does not read it.
      await queryFirstRow(
        system.database,
        `WITH session AS (
           INSERT INTO conversation.sessions (workspace_id, session_id, bot_id, source, visitor_id, visitor_metadata, started_at, last_activity_at, last_message_id, message_count)
           SELECT workspace_id, gen_random_uuid(), bot_id, 'widget', '', '{}', now() - interval '1 hour', now(), 1, 1
           FROM conversation.bots, generate_series(1, 40) WHERE workspace_id = $1
           RETURNING *
         )
         INSERT INTO conversation.messages (workspace_id, session_id, message_id, turn_id, role, content, status, created_at)
         SELECT workspace_id, session_id, 1, gen_random_uuid(), 'user', repeat('x', 1000000), 'done', now()
         FROM session`,
        [own.workspaceId],
      );
      const identity = { "accept-encoding": "identity" };
      const user = randomUUID();
      const headers = { ...bearer(await token(own, "viewer", user)), ...identity };
      const disconnect = new AbortController();
      const open = await Promise.all([1, 2].map(() => api.send({ path: NDJSON, headers, signal: disconnect.signal })));
      expect(open.map(({ status }) => status)).toEqual([200, 200]);
      const refused = await api.call({ path: CSV, headers });
      expect(formatRefusal(refused)).toBe(formatDetail(429, "too_many_exports"));
      expect(refused.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
      expect((await get(NDJSON, other)).status).toBe(200);
      disconnect.abort();
      // `get` sends the token of a new user with each request, so these requests do not count against the limit of `user`.
      await expect
        .poll(async () => (await get(`${NDJSON}?until=2020-01-01`, own)).status, { timeout: 10_000 })
        .toBe(200);
      let answer: ApiResponse;
      // The edge may refuse a request with too_many_exports while one of the two exports is still open. That request counts against the limit too.
      do answer = await api.call({ path: `${NDJSON}?until=2020-01-01`, headers });
      while (answer.status === 200 || answer.text.includes("too_many_exports"));
      expect(formatRefusal(answer)).toBe(formatDetail(429, "rate_limited"));
      expect(answer.headers.get("ratelimit-policy")).toBe('"exports";q=10;w=60');
      expect((await get(`${NDJSON}?until=2020-01-01`, own)).status).toBe(200);
    });
  });

  describe("deletion", () => {
    test("an owner hides a conversation; a member without the role owner gets 403 [D40/9] [D40/11]", async () => {
      const { session_id } = await startConversation();
      for (const role of ["none", "viewer"] as const) {
        const headers = bearer(await token(tenant, role));
        const answer = await api.call({ method: "DELETE", path: deletePath(session_id), headers });
        expect(formatRefusal(answer)).toBe(formatDetail(403, "forbidden"));
      }
      expect(idsOf(await list("?limit=100"))).toContain(session_id);
      expect(await send("DELETE", deletePath(session_id))).toMatchObject({ status: 204, text: "" });
      expect(idsOf(await list("?limit=100"))).not.toContain(session_id);
      expect(formatRefusal(await api.exportTranscript(await token(tenant), session_id))).toBe(
        formatDetail(404, "session_not_found"),
      );
      expect(formatRefusal(await api.refusedChat(tenant, { session_id }))).toBe(formatError(404, "session_not_found"));
      expect(formatRefusal(await send("DELETE", deletePath(session_id)))).toBe(formatDetail(404, "session_not_found"));
    });

    test("an id that is unknown, malformed or of another workspace gets the same 404 [D40/12]", async () => {
      const foreign = await startConversation({}, other);
      for (const id of [foreign.session_id, randomUUID(), "1", "%00", "x".repeat(300)])
        expect(formatRefusal(await send("DELETE", deletePath(id))), id).toBe(formatDetail(404, "session_not_found"));
      expect((await api.exportTranscript(await token(other), foreign.session_id)).status).toBe(200);
    });
  });

  describe("erasure", () => {
    test("an owner erases a visitor's conversations, including deleted ones; a member without the role owner gets 403 [D40/10] [D40/11]", async () => {
      const visitor_id = `visitor-${randomUUID()}`;
      const [first, deleted] = [await startConversation({ visitor_id }), await startConversation({ visitor_id })];
      const foreign = await startConversation({ visitor_id }, other);
      const kept = await startConversation({ visitor_id: `${visitor_id}x` });
      await send("DELETE", deletePath(deleted.session_id));
      for (const role of ["none", "viewer"] as const) {
        const headers = bearer(await token(tenant, role));
        const answer = await api.call({ method: "POST", path: ERASE, headers, body: { visitor_id } });
        expect(formatRefusal(answer)).toBe(formatDetail(403, "forbidden"));
      }
      const answer = await send("POST", ERASE, { visitor_id });
      expect(answer.status).toBe(202);
      expect(answer.body).toEqual({ conversations: 2, request_id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
      const messagesOf = async (id: string, { workspaceId } = tenant) =>
        (
          await queryFirstRow<{ count: number }>(
            system.database,
            "SELECT count(*)::integer FROM conversation.messages WHERE workspace_id = $1 AND session_id = $2",
            [workspaceId, id],
          )
        ).count;
      for (const { session_id } of [first, deleted])
        await expect.poll(() => messagesOf(session_id), { timeout: 10_000 }).toBe(0);
      expect(await messagesOf(kept.session_id)).toBe(2);
      expect(await messagesOf(foreign.session_id, other)).toBe(2);
      expect(await send("POST", ERASE, { visitor_id: "nobody" })).toMatchObject({ body: { conversations: 0 } });
    });

    test("a malformed erasure request gets 400, and one that is too large gets 413 [D40/4]", async () => {
      for (const body of [
        {},
        { visitor_id: "" },
        { visitor_id: 1 },
        { visitor_id: "v", x: 1 },
        { visitor_id: "x".repeat(1_025) },
      ])
        expect(formatRefusal(await send("POST", ERASE, body)), JSON.stringify(body)).toBe(
          formatDetail(400, "invalid_message"),
        );
      const headers = bearer(await token(tenant, "owner"));
      const raw = (body: string) => api.call({ method: "POST", path: ERASE, headers, body });
      expect(formatRefusal(await raw("{"))).toBe(formatDetail(400, "invalid_json"));
      expect(formatRefusal(await raw(`{"visitor_id":"${"x".repeat(17_000)}"}`))).toBe(
        formatDetail(413, "payload_too_large"),
      );
    });
  });

  describe("isolation", () => {
    test("a token reads nothing of another workspace [D40/12] [5/9]", async () => {
      const own = await createTenant(system.admin);
      const mine = await startConversation({ visitor_id: "v-shared", message: "secret words" }, own);
      await backdateSessions(own);
      for (const parameters of ["", "?visitor_id=v-shared", "?q=secret", `?bot_slug=${own.botSlug}`])
        expect(JSON.stringify(await list(parameters, other))).not.toContain(mine.session_id);
      const { text } = await get(NDJSON, own);
      const cursor = linesOf(text)[0]?.cursor;
      for (const path of [NDJSON, CSV])
        for (const parameters of ["", `?bot_slug=${own.botSlug}`, `?cursor=${cursor}`])
          expect((await get(`${path}${parameters}`, other)).text).not.toContain("secret");
      const known = await createTenant(system.admin);
      const unknown = { ...known, workspaceId: "unknown-workspace" };
      expect(await list("", unknown)).toEqual({ conversations: [], next_cursor: null });
      expect((await get(NDJSON, unknown)).text).toBe("");
    });

    test("a token without a role may export one conversation, and gets 403 from the list and the exports of all conversations [D40/11]", async () => {
      const own = await createTenant(system.admin);
      const { session_id } = await startConversation({}, own);
      for (const roleless of [await token(own, "none"), await createMemberToken(system, own)]) {
        for (const path of [LIST, `${LIST}?q=x`, NDJSON, CSV])
          expect(formatRefusal(await api.call({ path, headers: bearer(roleless) })), path).toBe(
            formatDetail(403, "forbidden"),
          );
        expect((await api.exportTranscript(roleless, session_id)).status).toBe(200);
      }
      for (const role of ["viewer", "owner"] as const)
        for (const path of [LIST, NDJSON, CSV])
          expect((await api.call({ path, headers: bearer(await token(own, role)) })).status, path).toBe(200);
    });

    test("a missing or invalid token gets 401 from every endpoint, and a wrong method gets 405 [D40/13]", async () => {
      const endpoints = [
        ["GET", LIST],
        ["GET", NDJSON],
        ["GET", CSV],
        ["DELETE", deletePath(randomUUID())],
        ["POST", ERASE],
      ] as const;
      const noWorkspace = bearer(await system.sso.sign({ ...memberClaims(system, tenant), workspace_id: "" }));
      for (const [method, path] of endpoints) {
        expect(formatRefusal(await api.call({ method, path }))).toBe(formatDetail(401, "authentication_required"));
        const bad = await api.call({ method, path, headers: { authorization: "Bearer a.b.c" } });
        expect(formatRefusal(bad)).toBe(formatDetail(401, "authentication_required"));
        expect(formatRefusal(await api.call({ method, path, headers: noWorkspace }))).toBe(
          formatDetail(401, "no_workspace"),
        );
        const wrong = await api.call({ method: "PUT", path });
        expect([formatRefusal(wrong), wrong.headers.get("allow")]).toEqual([
          formatDetail(405, "method_not_allowed"),
          method,
        ]);
      }
    });

    test("a user's lists, deletions and erasures share a limit of 120 requests a minute [D40/8]", async () => {
      const headers = bearer(await token(tenant, "owner"));
      const answers = await Promise.all(
        Array.from({ length: 121 }, () => api.call({ path: `${LIST}?limit=1`, headers, address: newClientAddress() })),
      );
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(1);
      const erase = await api.call({ method: "POST", path: ERASE, headers, body: { visitor_id: "nobody" } });
      expect(formatRefusal(erase)).toBe(formatDetail(429, "rate_limited"));
      const path = deletePath(randomUUID());
      expect(formatRefusal(await api.call({ method: "DELETE", path, headers }))).toBe(
        formatDetail(429, "rate_limited"),
      );
      expect((await api.call({ path: exportPath(randomUUID()), headers })).status).toBe(404);
    });
  });
}
