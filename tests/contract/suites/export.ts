// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { createTenant, type Tenant } from "../../system/system.ts";
import { type Api, bearer, exportPath } from "../support/api.ts";
import {
  addBot,
  type ContractSystem,
  createMemberToken,
  formatDetail,
  formatError,
  formatRefusal,
  readTranscript,
} from "../support/contract-system.ts";

export function exportSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;
  let token: string;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin);
    token = await createMemberToken(system, tenant);
  });

  const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/;

  describe("transcripts", () => {
    test("the export is a download named after the session [1/4] [4.3/4-6] [5/4]", async () => {
      const session_id = randomUUID();
      await api.chat(tenant, { session_id });
      const { status, headers, body } = await api.exportTranscript(token, session_id);
      expect(status).toBe(200);
      expect(headers.get("content-type")).toMatch(/^application\/json\b/);
      expect(headers.get("content-disposition")).toBe(`attachment; filename="session-${session_id}.json"`);
      expect(Object.keys(body as object)).toEqual(["session", "messages"]);
    });

    test("the export has every documented field of the session and its messages [2.3/1-9] [2.4/1-13] [3/1]", async () => {
      const session_id = randomUUID();
      const startedAt = Date.now();
      const { meta } = await api.chat(tenant, {
        session_id,
        visitor_id: "v-1",
        visitor_metadata: { a: 1 },
        message: "Hi 👋",
      });
      const { session, messages } = await readTranscript(system, tenant, session_id);
      expect(session).toEqual({
        id: session_id,
        bot_slug: tenant.botSlug,
        source: "widget",
        visitor_id: "v-1",
        visitor_metadata: { a: 1 },
        referrer: "",
        user_agent: expect.any(String),
        started_at: expect.stringMatching(TIME),
        last_activity_at: expect.stringMatching(TIME),
      });
      const common = {
        id: expect.stringMatching(/^\d+$/),
        rating: "",
        status: "done",
        error_message: "",
        rag_chunks_used: [],
        tools_called: [],
        created_at: expect.stringMatching(TIME),
      };
      const [question, answer] = messages;
      expect(messages).toHaveLength(2);
      expect(question).toEqual({
        ...common,
        role: "user",
        content: "Hi 👋",
        model: "",
        tokens_in: 0,
        tokens_out: 0,
        latency_ms: 0,
      });
      expect(answer).toEqual({
        ...common,
        id: String(meta?.message_id),
        role: "assistant",
        content: "Hello from the scripted provider, token by token.",
        model: "openai:default",
        tokens_in: 21,
        tokens_out: 34,
        latency_ms: expect.any(Number),
      });
      for (const time of [session.started_at, session.last_activity_at, question?.created_at, answer?.created_at])
        expect(Math.abs(Date.parse(String(time)) - startedAt)).toBeLessThan(10_000);
    });

    test("messages are exported in chronological order, user and assistant alternating [4.3/7]", async () => {
      const session_id = randomUUID();
      const bot = await addBot(system, tenant, "echo", "openai:echo");
      for (const message of ["One.", "Two.", "Three."]) await api.chat(bot, { session_id, message });
      const { session, messages } = await readTranscript(system, tenant, session_id);
      const lines = messages.map(({ role, content }) => `${role}: ${content}`);
      expect(lines).toEqual(["One.", "Two.", "Three."].flatMap((text) => [`user: ${text}`, `assistant: ${text}`]));
      const times = messages.map(({ created_at }) => String(created_at));
      expect(times).toEqual(times.toSorted((a, b) => (a < b ? -1 : 1)));
      expect(String(session.last_activity_at) > String(times.at(-3))).toBe(true);
      expect(String(session.started_at) <= String(times[0])).toBe(true);
    });

    test("the export lists the knowledge chunks of a reply [2.4/11]", async () => {
      const withKnowledge = await createTenant(system.admin);
      const { workspaceId, botSlug } = withKnowledge;
      const content = Buffer.from("# Parcels\n\nA parcel to Iceland takes nine days.");
      await system.admin.knowledge.addSource({ workspaceId, botSlug, name: "Shipping", format: "md", content });
      const session_id = randomUUID();
      await api.chat(withKnowledge, { session_id, message: "How long does a parcel to Iceland take?" });
      const { messages } = await readTranscript(system, withKnowledge, session_id);
      expect(messages[1]?.rag_chunks_used).toEqual([expect.any(Number)]);
      expect(messages[0]?.rag_chunks_used).toEqual([]);
    });
  });

  describe("sessions that cannot be exported", () => {
    test("a missing, foreign or deleted session and a malformed session id get the same 404, byte for byte [2.3/10] [4.3/1] [4.3/8] [5/9] [5/12] [7.2/3] [D22/1] [D23/7]", async () => {
      const deleted = randomUUID();
      await api.chat(tenant, { session_id: deleted });
      await system.admin.sessions.deleteSession({ workspaceId: tenant.workspaceId, sessionId: deleted });
      const foreign = randomUUID();
      await api.chat(await createTenant(system.admin), { session_id: foreign });
      const existing = randomUUID();
      await api.chat(tenant, { session_id: existing });

      const ids = [
        deleted,
        foreign,
        randomUUID(),
        "1",
        "x".repeat(300),
        "%00",
        "%E0%A4%A",
        "..%2f..",
        `${existing}%20`,
      ];
      const answers = await Promise.all(
        ids.map(async (id) => api.exportTranscript(await createMemberToken(system, tenant), id)),
      );
      const unknownWorkspaceToken = await system.sso.token({ workspaceId: "unknown-workspace" });
      answers.push(await api.exportTranscript(unknownWorkspaceToken, existing));
      for (const [index, { headers, ...answer }] of answers.entries()) {
        expect(formatRefusal({ headers, ...answer }), ids[index]).toBe(formatDetail(404, "session_not_found"));
        const comparable = (all: Iterable<[string, string]>) =>
          [...all].filter(([name]) => !/^(date|parley-request-id|ratelimit)$/.test(name));
        expect(comparable(headers)).toEqual(comparable(answers[0]?.headers ?? []));
      }
      expect((await api.exportTranscript(token, existing.toUpperCase())).status).toBe(200);
    });

    test("an erased session gets 404 from export and chat [2.3/10] [3/2]", async () => {
      const session_id = randomUUID();
      await api.chat(tenant, { session_id });
      await system.admin.sessions.eraseSession({ workspaceId: tenant.workspaceId, sessionId: session_id });
      expect(formatRefusal(await api.exportTranscript(token, session_id))).toBe(formatDetail(404, "session_not_found"));
      expect(formatRefusal(await api.refusedChat(tenant, { session_id }))).toBe(formatError(404, "session_not_found"));
    });
  });

  describe("ratings", () => {
    test("a rating can be set, changed and cleared, and appears in the export [2.4/4] [D27/1]", async () => {
      const session_id = randomUUID();
      const { meta } = await api.chat(tenant, { session_id });
      const readStoredRatings = async () =>
        (await readTranscript(system, tenant, session_id)).messages.map(({ rating }) => rating);
      for (const [message_id, rating] of [
        [meta?.message_id, "up"],
        [String(meta?.message_id), "down"],
        [meta?.message_id, ""],
        [meta?.message_id, "up"],
      ]) {
        const answer = await api.rateMessage(tenant, { session_id, message_id, rating });
        expect(answer).toMatchObject({ status: 204, text: "" });
        expect(await readStoredRatings()).toEqual(["", rating]);
      }
    });

    test("the reason of a rating is stored until the next rating, and is not in the export of one conversation [D27/3]", async () => {
      const session_id = randomUUID();
      const { meta } = await api.chat(tenant, { session_id });
      const readReasons = async () => {
        const { workspaceId } = tenant;
        const { turns } = await system.admin.turns.listTurns({ workspaceId, sessionId: session_id });
        return turns.map(({ rating, ratingReason }) => [rating, ratingReason]);
      };
      const reason = "😀".repeat(1_000);
      for (const [fields, stored] of [
        [{ rating: "down", reason }, reason],
        [{ rating: "down", reason: "too vague" }, "too vague"],
        [{ rating: "up" }, ""],
        [{ rating: "", reason: "" }, ""],
      ] as const) {
        const answer = await api.rateMessage(tenant, { session_id, message_id: meta?.message_id, ...fields });
        expect(answer).toMatchObject({ status: 204, text: "" });
        expect(await readReasons()).toEqual([[fields.rating, stored]]);
      }
      await api.rateMessage(tenant, { session_id, message_id: meta?.message_id, rating: "down", reason: "secret" });
      const transcript = await readTranscript(system, tenant, session_id);
      expect(JSON.stringify(transcript)).not.toMatch(/reason|secret/);
    });

    test("rating anything but a reply of the session gets message_not_found [D27/2]", async () => {
      const session_id = randomUUID();
      const { meta } = await api.chat(tenant, { session_id });
      const own = Number(meta?.message_id);
      const otherBot = await addBot(system, tenant, "other-bot");
      const other = await createTenant(system.admin);
      const rating = "up";
      const answers = [
        await api.rateMessage(tenant, { session_id, message_id: own + 1_000_000, rating }),
        await api.rateMessage(tenant, { session_id, message_id: own - 1, rating }),
        await api.rateMessage(tenant, { session_id: randomUUID(), message_id: own, rating }),
        await api.rateMessage(otherBot, { session_id, message_id: own, rating }),
        await api.rateMessage(other, { session_id, message_id: own, rating }),
      ];
      for (const answer of answers) expect(formatRefusal(answer)).toBe(formatError(404, "message_not_found"));
      expect((await readTranscript(system, tenant, session_id)).messages.map((message) => message.rating)).toEqual([
        "",
        "",
      ]);
    });

    test("a malformed rating gets 400 [D27/1] [D27/3]", async () => {
      const good = { session_id: randomUUID(), message_id: 1, rating: "up" };
      const wrong: [Record<string, unknown>, string][] = [
        [{ rating: "sideways" }, "invalid_message"],
        [{ rating: null }, "invalid_message"],
        [{ message_id: 1.5 }, "invalid_message"],
        [{ message_id: -1 }, "invalid_message"],
        [{ message_id: "x" }, "invalid_message"],
        [{ message_id: undefined }, "invalid_message"],
        [{ session_id: undefined }, "invalid_message"],
        [{ session_id: "1" }, "invalid_session_id"],
        [{ reason: "x".repeat(1_001) }, "invalid_message"],
        [{ reason: 5 }, "invalid_message"],
        [{ rating: "", reason: "x" }, "invalid_message"],
      ];
      for (const [fields, code] of wrong) {
        const answer = await api.rateMessage(tenant, { ...good, ...fields });
        expect(formatRefusal(answer), JSON.stringify(fields)).toBe(formatError(400, code));
      }
      const call = { method: "POST", path: "/api/chat/rating/", headers: { origin: tenant.origin }, body: "{" };
      expect(formatRefusal(await api.call(call))).toBe(formatError(400, "invalid_json"));
    });
  });

  test("a token of another workspace gets 404 from export and playground [5/9] [4.4/2]", async () => {
    const session_id = randomUUID();
    await api.chat(tenant, { session_id });
    const other = await createTenant(system.admin);
    const otherToken = await createMemberToken(system, other);
    expect(formatRefusal(await api.exportTranscript(otherToken, session_id))).toBe(
      formatDetail(404, "session_not_found"),
    );
    expect(formatRefusal(await api.refusedPlayground(otherToken, { bot_slug: tenant.botSlug }))).toBe(
      formatDetail(404, "bot_not_found"),
    );
    const { messages } = await readTranscript(system, tenant, session_id);
    expect(messages).toHaveLength(2);
    expect((await api.call({ path: exportPath(session_id), headers: bearer(token) })).status).toBe(200);
  });
}
