import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createHistoryApi, type PastMessage, toEntries } from "./api.ts";
import type { HistoryContext } from "./context.ts";

const at = "2026-11-21T09:30:00.123456+00:00";
const ms = Date.parse("2026-11-21T09:30:00.123Z");
const question = (id: string): PastMessage => ({ id, role: "user", content: `question ${id}`, created_at: at });
const reply = (id: string, fields: Partial<PastMessage> = {}): PastMessage => ({
  ...{ id, role: "assistant", content: `reply ${id}`, created_at: at, finish_reason: "stop", rating: "" },
  ...fields,
});

describe("toEntries", () => {
  const shown = { id: "1", role: "user", text: "question 1", at: ms };
  const replied = { id: "1:a", role: "assistant", text: "reply 2", at: ms };
  const ratable = { ...replied, messageId: 2, rating: "" };

  it.each<[string, Partial<PastMessage>, object[]]>([
    ["a complete reply", {}, [shown, ratable]],
    ["a rated reply", { rating: "down" }, [shown, { ...ratable, rating: "down" }]],
    ["a stopped reply", { finish_reason: "cancelled" }, [shown, { ...ratable, failed: "stopped" }]],
    [
      "a failed reply",
      { finish_reason: "error", code: "provider_timeout" },
      [shown, { ...ratable, failed: "provider_timeout" }],
    ],
    ["a failed reply without a code", { finish_reason: "error" }, [shown, { ...ratable, failed: "failed" }]],
    ["a blocked reply, without a rating", { finish_reason: "blocked" }, [shown, replied]],
    [
      "a failed reply without text, at its message",
      { finish_reason: "quota_exceeded", code: "quota_exceeded", content: "" },
      [{ ...shown, failed: "quota_exceeded" }],
    ],
  ])("returns %s", (_, fields, entries) => {
    expect(toEntries([question("1"), reply("2", fields)])).toEqual(entries);
  });

  it("returns a person's messages with the name, each with its own id", () => {
    const agent = { name: "Anna" };
    expect(toEntries([question("1"), reply("2", { agent }), reply("3", { agent })])).toEqual([
      shown,
      { id: "m2", role: "assistant", text: "reply 2", at: ms, messageId: 2, agent: "Anna" },
      { id: "m3", role: "assistant", text: "reply 3", at: ms, messageId: 3, agent: "Anna" },
    ]);
  });

  it("returns an empty reply while it is running", () => {
    const { finish_reason, ...running } = reply("2", { content: "" });
    expect(toEntries([question("1"), running])).toEqual([shown, { ...ratable, text: "" }]);
  });

  it("keeps the order of several turns", () => {
    const entries = toEntries([question("1"), reply("2"), question("3"), reply("4")]);
    expect(entries.map(({ id }) => id)).toEqual(["1", "1:a", "3", "3:a"]);
  });
});

describe("createHistoryApi", () => {
  let responses: Response[];
  let requests: [url: string, authorization: string][];
  let tokens: (string | undefined)[];
  beforeEach(() => {
    requests = [];
    tokens = [];
    vi.stubGlobal("fetch", async (url: string, { headers }: { headers: { Authorization: string } }) => {
      requests.push([url, headers.Authorization]);
      return responses.shift();
    });
  });
  afterEach(() => vi.unstubAllGlobals());

  const open = () => {
    const context = { base: "https://chat.example/", publicKey: "svc_pk_1", readToken: async () => tokens.shift() };
    return createHistoryApi(context as unknown as HistoryContext, new AbortController().signal);
  };
  const refusal = (error: string, status = 401) => Response.json({ error }, { status });

  it("requests pages with the visitor's token", async () => {
    tokens = ["t1", "t2"];
    responses = [
      Response.json({ sessions: [{ id: "s-1" }], next_cursor: "c&1" }),
      Response.json({ messages: [question("1")], next_before: null }),
    ];
    expect(await open().listSessions("c 0")).toEqual({ items: [{ id: "s-1" }], next: "c&1" });
    expect(await open().listMessages("s-1", undefined)).toEqual({ items: [question("1")], next: null });
    expect(requests).toEqual([
      ["https://chat.example/api/chat/sessions/?public_key=svc_pk_1&cursor=c+0", "Bearer t1"],
      ["https://chat.example/api/chat/sessions/s-1/messages/?public_key=svc_pk_1", "Bearer t2"],
    ]);
  });

  it("asks the page for another token once if the token has expired", async () => {
    tokens = ["expired", "fresh"];
    responses = [refusal("invalid_visitor_token"), Response.json({ sessions: [], next_cursor: null })];
    expect(await open().listSessions(undefined)).toEqual({ items: [], next: null });
    expect(requests.map(([, authorization]) => authorization)).toEqual(["Bearer expired", "Bearer fresh"]);
    tokens = ["expired", "expired"];
    responses = [refusal("invalid_visitor_token"), refusal("invalid_visitor_token")];
    await expect(open().listSessions(undefined)).rejects.toMatchObject({ code: "invalid_visitor_token" });
  });

  it("does not repeat a request after another refusal", async () => {
    tokens = ["t1"];
    responses = [refusal("rate_limited", 429)];
    await expect(open().listSessions(undefined)).rejects.toMatchObject({ code: "rate_limited" });
    expect(requests).toHaveLength(1);
  });
});
