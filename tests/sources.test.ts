import { randomUUID } from "node:crypto";
import { queryRows, type ReceivedRequest, type Reply, readSse } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ChatResult, exportTranscript, postChat, readChat } from "./system/chat.ts";
import { cliEnv, runCliJson } from "./system/cli.ts";
import { databaseOf, queryFirstRow } from "./system/database.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";
import { newClientAddress, signVisitorToken, TRUST_FORWARDED_FOR } from "./system/visitors.ts";

const PAGE = "https://shop.example.com/delivery";
const FILE = "internal-bread-prices.txt";
const DOCUMENTS = [
  {
    name: PAGE,
    content: "# Delivery\n\nBread is delivered within two days.\n\n## Islands\n\nBread for islands takes a week.",
  },
  { name: FILE, content: "Bread for islands costs four euros more." },
];
const QUESTION = "Bread for islands?";
const PAGE_SOURCE = { number: 1, title: "Delivery", url: PAGE };
const FILE_SOURCE = { number: 2, title: FILE };

let system: System;
let tenants: Record<"off" | "links" | "all" | "builtin", Tenant>;
const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());
beforeAll(async () => {
  system = await startSystem({ edges: 2, env: { edge: TRUST_FORWARDED_FOR } });
  resources.defer(() => system.stop());
  const [off, links, all, builtin] = await Promise.all([
    createShop("off"),
    createShop("links"),
    createShop("all"),
    createShop("all", "builtin:extractive"),
  ]);
  tenants = { off, links, all, builtin };
}, 120_000);
beforeEach(() => system.provider.reset());

async function createShop(showSources: string, model = "openai:default"): Promise<Tenant> {
  const tenant = await createTenant(system.admin, { model });
  const { workspaceId, botSlug } = tenant;
  const added = await system.admin.bots.updateBot({ workspaceId, slug: botSlug, changes: { showSources } });
  expect(added.bot?.showSources).toBe(showSources);
  await addDocuments(tenant);
  return tenant;
}

async function addDocuments(tenant: Tenant): Promise<void> {
  const { workspaceId, botSlug } = tenant;
  for (const { name, content } of DOCUMENTS)
    await system.admin.knowledge.addSource({ workspaceId, botSlug, name, format: "md", content: Buffer.from(content) });
  // No test can fetch a public page.
  const mark =
    "UPDATE conversation.knowledge_sources SET url = name WHERE workspace_id = $1 AND name = $2 RETURNING name";
  await queryFirstRow(databaseOf(system, workspaceId), mark, [workspaceId, PAGE]);
}

/** Marks in a scripted reply: the numbers of passages in the prompt, by words of their texts. */
const PASSAGES = { TWO_DAYS: "two days", WEEK: "takes a week", PRICE: "four euros" };

function promptOf({ body }: ReceivedRequest): string {
  return JSON.stringify((body as { messages: object[] }).messages);
}

/** Replaces the names of PASSAGES in brackets, such as [WEEK], by the numbers that the prompt gives the passages. */
function fillNumbers(text: string, request: ReceivedRequest): string {
  const prompt = promptOf(request);
  return Object.entries(PASSAGES).reduce((filled, [name, words]) => {
    const before = prompt.slice(0, prompt.indexOf(words));
    const number = /<source number=\\"(\d+)\\"(?!.*<source number)/s.exec(before)?.[1] ?? "none";
    return filled.replaceAll(`[${name}]`, `[${number}]`);
  }, text);
}

/** Scripts a reply, in these tokens or in one token for each character. */
function script(
  text: string,
  { tokens, ...reply }: Omit<Reply, "tokens"> & { tokens?: (text: string) => string[] } = {},
) {
  system.provider.script((request) => {
    const filled = fillNumbers(text, request);
    return { ...reply, tokens: tokens?.(filled) ?? [filled] };
  });
}

type Asked = ChatResult & { sources: unknown; sessionId: string; key: string };

async function ask(tenant: Tenant, fields: object = {}, key: string = randomUUID(), edge = 0): Promise<Asked> {
  const body = { session_id: randomUUID(), message: QUESTION, ...fields };
  const headers = { "idempotency-key": key, "x-forwarded-for": newClientAddress() };
  const response = await postChat(urlOf(edge), tenant, body, { headers });
  const result = await readChat(response);
  return {
    ...result,
    sources: result.events.find(({ event }) => event === "sources")?.data.sources,
    sessionId: body.session_id,
    key,
  };
}

const urlOf = (edge: number) => `http://127.0.0.1:${system.edges[edge]?.port}`;

const readStored = ({ workspaceId }: Tenant, { sessionId }: { sessionId: string }) =>
  queryFirstRow<{ content: string; sources: unknown; chunks: number }>(
    databaseOf(system, workspaceId),
    `SELECT content, sources, cardinality(chunks_cited) AS chunks FROM conversation.messages
     WHERE workspace_id = $1 AND session_id = $2 AND role = 'assistant' ORDER BY message_id DESC LIMIT 1`,
    [workspaceId, sessionId],
  );

const CITING =
  "Bread takes a week [WEEK], and four euros more [PRICE]. Usually two days [TWO_DAYS][77]. `prices[PRICE]` [WEEK]";
const CITED = "Bread takes a week [1], and four euros more [2]. Usually two days [1]. `prices[";

describe("a bot that shows all sources", () => {
  test("shows each cited document once, in the order of the citations, before done", async () => {
    script(CITING);
    const reply = await ask(tenants.all);
    expect(reply.text.startsWith(CITED)).toBe(true);
    expect(reply.text.endsWith("]` [1]")).toBe(true);
    expect(reply.sources).toEqual([PAGE_SOURCE, FILE_SOURCE]);
    expect(reply.events.slice(-2).map(({ event, id }) => [event, id])).toEqual([
      ["sources", `${reply.meta?.message_id}-${reply.text.length}`],
      ["done", `${reply.meta?.message_id}-${reply.text.length}`],
    ]);
    expect(await readStored(tenants.all, reply)).toEqual({
      content: reply.text,
      sources: [PAGE_SOURCE, FILE_SOURCE],
      chunks: 3,
    });
  });

  test("shows the same text and sources for any split of the reply, also when moderation holds it back", async () => {
    const { workspaceId } = tenants.all;
    const { bot } = await system.admin.bots.duplicateBot({
      workspaceId,
      slug: tenants.all.botSlug,
      newSlug: "moderated",
    });
    expect(bot?.showSources).toBe("all");
    const scope = { workspaceId, botSlug: "moderated" };
    await system.admin.moderation.addPattern({ ...scope, pattern: "week \\[2\\]", appliesTo: "reply", reason: "r" });
    const { key } = await system.admin.keys.createKey({ ...scope, domains: ["shop.example"] });
    const moderated = { ...tenants.all, botSlug: "moderated", publicKey: key?.publicKey ?? "" };
    await addDocuments(moderated);
    script(CITING);
    const expected = await ask(tenants.all);
    const splits = [(text: string) => [...text], ...[1, 5, 19, 20, 21, 22, 23].map((at) => splitAt(at))];
    for (const tenant of [tenants.all, moderated])
      for (const tokens of splits) {
        script(CITING, { tokens });
        const { text, sources } = await ask(tenant);
        expect({ text, sources }).toEqual({ text: expected.text, sources: expected.sources });
      }
    // Moderation matches the text that the visitor gets, whose numbers are not the model's.
    script("Four euros [PRICE], and a week [WEEK].", { tokens: (text) => [...text] });
    const blocked = await ask(moderated);
    expect([blocked.done?.finish_reason, blocked.sources]).toEqual(["blocked", undefined]);
    expect(await readStored(moderated, blocked)).toMatchObject({ sources: [], chunks: 0 });
  });

  test.each([
    ["without citations", "Bread takes a week.", "Bread takes a week."],
    ["with invented numbers", "Bread [0] takes [50] a week [999].", "Bread takes a week."],
    ["with numbers in code", "```\na[1]\n```", "```\na[1]\n```"],
  ])("shows no sources of a reply %s", async (_, text, shown) => {
    script(text);
    const reply = await ask(tenants.all);
    expect([reply.text, reply.sources]).toEqual([shown, undefined]);
    expect(await readStored(tenants.all, reply)).toMatchObject({ sources: [], chunks: 0 });
  });

  test("shows no sources of a reply that fails", async () => {
    script("A week [WEEK], or more", { fault: "cut", tokens: (text) => text.split(" "), afterTokens: 4 });
    const reply = await ask(tenants.all);
    expect([reply.done?.finish_reason, reply.sources]).toEqual(["error", undefined]);
    expect(await readStored(tenants.all, reply)).toMatchObject({ sources: [], chunks: 0 });
  });

  test("shows what a stopped reply has cited so far", async () => {
    script("A week [WEEK]. Four euros [PRICE]. And more", { tokens: (text) => text.split(/(?<=\.)/), everyMs: 1_500 });
    const key = randomUUID();
    const body = { session_id: randomUUID(), message: QUESTION };
    const headers = { "idempotency-key": key, "content-type": "application/json", origin: tenants.all.origin };
    const response = await postChat(urlOf(0), tenants.all, body, { headers });
    const events: { event: string; data: unknown }[] = [];
    for await (const item of readSse(response)) {
      if (!("event" in item)) continue;
      events.push(item);
      if (events.length === 2) {
        const stopped = { public_key: tenants.all.publicKey, session_id: body.session_id, idempotency_key: key };
        await fetch(`${urlOf(1)}/api/chat/stop/`, { method: "POST", headers, body: JSON.stringify(stopped) });
      }
    }
    expect(events.slice(-2)).toMatchObject([
      { event: "sources", data: { sources: [PAGE_SOURCE] } },
      { event: "done", data: { finish_reason: "cancelled" } },
    ]);
    const resumed = await ask(tenants.all, body, key, 1);
    expect([resumed.text, resumed.sources]).toEqual(["A week [1].", [PAGE_SOURCE]]);
  });

  test("asks the model to cite, and hides the footnotes of earlier replies from it", async () => {
    script("A week [WEEK]. Four euros [PRICE].");
    const { sessionId } = await ask(tenants.all);
    script("Yes.");
    await ask(tenants.all, { session_id: sessionId, message: "Is bread for islands delivered?" });
    const prompt = promptOf(system.provider.requests.at(-1) as ReceivedRequest);
    expect(prompt).toContain("write the number of that source in square brackets");
    expect(prompt).toContain("A week. Four euros.");
  });

  test("shows the built-in model's sources as footnotes", async () => {
    const reply = await ask(tenants.builtin, { message: "How long does bread for islands take?" });
    expect(reply.text).toBe("Bread for islands takes a week. [1]");
    expect(reply.sources).toEqual([PAGE_SOURCE]);
  });

  test("shows no sources of an owner's answer, whose text stays as it is", async () => {
    const { workspaceId, botSlug } = tenants.builtin;
    const answer = { workspaceId, botSlug, questions: ["Where is my order?"], answer: "See [1] or [9]." };
    await system.admin.answers.addAnswer(answer);
    await expect
      .poll(() => ask(tenants.builtin, { message: "Where is my order?" }), { timeout: 10_000, interval: 500 })
      .toMatchObject({ text: "See [1] or [9].", sources: undefined, done: { model: "builtin:curated" } });
  });
});

describe("a bot that shows links", () => {
  test("shows public pages only, and tells no name of another document", async () => {
    script("Four euros [PRICE]. A week [WEEK].");
    const reply = await ask(tenants.links);
    expect([reply.text, reply.sources]).toEqual(["Four euros. A week [1].", [PAGE_SOURCE]]);
    // The document counts as cited.
    expect(await readStored(tenants.links, reply)).toMatchObject({ sources: [PAGE_SOURCE], chunks: 2 });
    const prompt = promptOf(system.provider.requests.at(-1) as ReceivedRequest);
    expect([prompt.includes("four euros"), prompt.includes(PAGE), prompt.includes(FILE)]).toEqual([true, true, false]);
    for (const { outputs } of [system.llm, system.conversation, ...system.edges]) expect(outputs()).not.toContain(FILE);
  });
});

describe("a bot that shows no sources", () => {
  test("streams, stores and exports as before", async () => {
    script("A week [1]. [99]");
    const reply = await ask(tenants.off);
    expect(reply.text).toBe("A week [1]. [99]");
    expect(reply.events.map(({ event }) => event)).toEqual(["meta", "token", "done"]);
    const prompt = promptOf(system.provider.requests.at(-1) as ReceivedRequest);
    expect([prompt.includes("square brackets"), prompt.includes(FILE)]).toEqual([false, true]);
    expect(await readStored(tenants.off, reply)).toEqual({ content: reply.text, sources: [], chunks: 0 });
  });
});

describe("the sources of a reply", () => {
  test("stay the same for resumed readers and in the history after the documents were removed; the transcript has none", async () => {
    const tenant = await createShop("all");
    const { workspaceId, botSlug } = tenant;
    const { secret } = await system.admin.identityKeys.createIdentityKey({ workspaceId });
    const token = await signVisitorToken(secret, "visitor-1");
    script("A week [WEEK]. Four euros [PRICE].");
    const fields = { session_id: randomUUID(), visitor_token: token };
    const reply = await ask(tenant, fields);
    expect(reply.sources).toEqual([PAGE_SOURCE, FILE_SOURCE]);
    for (const { name } of DOCUMENTS) await system.admin.knowledge.removeSource({ workspaceId, botSlug, name });

    for (const edge of [0, 1]) {
      const resumed = await ask(tenant, fields, reply.key, edge);
      expect(resumed.events).toEqual(
        reply.events.filter(({ event }) => event !== "token").toSpliced(1, 0, ...tokensOf(resumed)),
      );
      expect([resumed.text, resumed.sources]).toEqual([reply.text, reply.sources]);
    }
    const history = await fetch(
      `${urlOf(0)}/api/chat/sessions/${reply.sessionId}/messages/?public_key=${tenant.publicKey}`,
      { headers: { origin: tenant.origin, authorization: `Bearer ${token}` } },
    );
    const { messages } = (await history.json()) as { messages: object[] };
    expect(messages).toMatchObject([{ role: "user" }, { content: reply.text, sources: reply.sources }]);
    expect(messages[0]).not.toHaveProperty("sources");
    const transcript = JSON.stringify(await (await exportTranscript(system, tenant, reply.sessionId)).json());
    expect(transcript).not.toContain("sources");

    await system.admin.sessions.eraseSession({ workspaceId, sessionId: reply.sessionId });
    const left = "SELECT message_id FROM conversation.messages WHERE workspace_id = $1 AND sources <> '[]'";
    expect(await queryRows(databaseOf(system, workspaceId).url, left, [workspaceId])).toEqual([]);
  });

  test("are shown to owners in the transcript and the export", async () => {
    script("A week [WEEK]. Four euros [PRICE].");
    const { sessionId } = await ask(tenants.links);
    const { workspaceId } = tenants.links;
    const args = ["conversation", "show", sessionId, "--workspace", workspaceId];
    const shown = await runCliJson<{ messages: { rag_chunks_used: number[]; rag_chunks_cited: number[] }[] }>(
      args,
      cliEnv(system),
    );
    expect(shown).toMatchObject({ messages: [{ rag_chunks_cited: [], sources: [] }, { sources: [PAGE_SOURCE] }] });
    const { turns } = await system.admin.turns.listTurns({ workspaceId, sessionId });
    expect(turns[0]?.sources).toMatchObject([PAGE_SOURCE]);
    expect(turns[0]?.turn?.knowledge.filter(({ cited }) => cited)).toHaveLength(2);
    expect(shown.messages[1]?.rag_chunks_cited).toHaveLength(2);
  });
});

const tokensOf = ({ events }: ChatResult) => events.filter(({ event }) => event === "token");

const splitAt = (at: number) => (text: string) => [text.slice(0, at), text.slice(at)];
