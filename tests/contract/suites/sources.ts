// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, beforeEach, expect, test } from "vitest";
import type { ChatResult } from "../../system/chat.ts";
import { databaseOf, queryFirstRow } from "../../system/database.ts";
import type { Tenant } from "../../system/system.ts";
import { signVisitorToken } from "../../system/visitors.ts";
import { bearer } from "../support/api.ts";
import {
  addBot,
  type ContractSystem,
  createVisitorWorkspace,
  memberClaims,
  readTranscript,
  type VisitorWorkspace,
} from "../support/contract-system.ts";

const PAGE = "https://shop.example.com/delivery";
const DOCUMENTS = { [PAGE]: "# Delivery\n\nBread takes two days.", "prices.txt": "Bread costs four euros." };
const MESSAGE = "Bread?";
const PAGE_SOURCE = { title: "Delivery", url: PAGE };
const FILE_SOURCE = { title: "prices.txt" };

export function sourcesSuite(shared: () => ContractSystem): void {
  let { system, api, tenant, secret } = {} as VisitorWorkspace;

  beforeAll(async () => {
    ({ system, api, tenant, secret } = await createVisitorWorkspace(shared()));
  });
  beforeEach(() => system.provider.reset());

  async function addShop(showSources: string): Promise<Tenant> {
    const bot = await addBot(system, tenant, `shop-${randomUUID().slice(0, 8)}`);
    const { workspaceId, botSlug } = bot;
    if (showSources !== "") await system.admin.bots.updateBot({ workspaceId, slug: botSlug, changes: { showSources } });
    for (const [name, text] of Object.entries(DOCUMENTS))
      await system.admin.knowledge.addSource({ workspaceId, botSlug, name, format: "md", content: Buffer.from(text) });
    // No test can fetch a public page.
    const mark =
      "UPDATE conversation.knowledge_sources SET url = name WHERE workspace_id = $1 AND name = $2 RETURNING name";
    await queryFirstRow(databaseOf(system, workspaceId), mark, [workspaceId, PAGE]);
    return bot;
  }

  /** Scripts a reply. Replaces PAGE and FILE by the numbers of these documents in the prompt. */
  function script(text: string, reply: object = {}): void {
    system.provider.script(({ body }) => {
      const prompt = JSON.stringify(body);
      const isFileFirst = prompt.indexOf("four euros") < prompt.indexOf("two days");
      const filled = text.replaceAll("PAGE", isFileFirst ? "2" : "1").replaceAll("FILE", isFileFirst ? "1" : "2");
      return { tokens: filled.split(/(?<=\.)/), ...reply };
    });
  }
  const sourcesOf = ({ events }: ChatResult) => events.find(({ event }) => event === "sources")?.data.sources;

  test("a reply has its sources before done, numbered in the order of their citations [D52/1] [D52/2]", async () => {
    const bot = await addShop("all");
    script("Four euros [FILE]. Two days [PAGE], [9] really [FILE].");
    const reply = await api.chat(bot, { message: MESSAGE });
    expect(reply.text).toBe("Four euros [1]. Two days [2], really [1].");
    expect(reply.events.at(-2)).toEqual({
      event: "sources",
      data: {
        sources: [
          { number: 1, ...FILE_SOURCE },
          { number: 2, ...PAGE_SOURCE },
        ],
      },
    });
  });

  test("only all shows documents that are no public page [D52/3]", async () => {
    const bot = await addShop("links");
    script("Four euros [FILE]. Two days [PAGE].");
    const reply = await api.chat(bot, { message: MESSAGE });
    expect([reply.text, sourcesOf(reply)]).toEqual(["Four euros. Two days [1].", [{ number: 1, ...PAGE_SOURCE }]]);
  });

  test("blocked and failed replies and an owner's answer have none, a stopped one those of its text [D52/4]", async () => {
    const bot = await addShop("all");
    const { workspaceId, botSlug } = bot;
    const pattern = { workspaceId, botSlug, pattern: "secret", reason: "r", appliesTo: "reply" };
    await system.admin.moderation.addPattern(pattern);
    const own = { workspaceId, botSlug, questions: ["Where is my order?"], answer: "See [1]." };
    await system.admin.answers.addAnswer(own);
    script("Two days [PAGE]. It is a secret.");
    const blocked = await api.chat(bot, { message: MESSAGE });
    script("Two days [PAGE]. And more.", { fault: "cut", afterTokens: 1 });
    const failed = await api.chat(bot, { message: MESSAGE });
    const answered = await api.chat(bot, { message: "Where is my order?" });
    expect([blocked, failed, answered].map((reply) => [reply.done?.finish_reason, sourcesOf(reply)])).toEqual([
      ["blocked", undefined],
      ["error", undefined],
      ["stop", undefined],
    ]);
    expect(answered.text).toBe("See [1].");

    // Without a pattern, moderation holds nothing back.
    const other = await addShop("all");
    script("Two days [PAGE]. Four euros [FILE]. And more.", { firstTokenMs: 0, everyMs: 2_000 });
    const fields = { session_id: randomUUID(), message: MESSAGE };
    const key = randomUUID();
    const open = api.chat(other, fields, { "idempotency-key": key });
    await expect.poll(() => system.provider.requests.at(-1)?.tokensSent, { timeout: 10_000 }).toBe(1);
    await sleep(500);
    const body = { public_key: other.publicKey, session_id: fields.session_id, idempotency_key: key };
    await api.call({ method: "POST", path: "/api/chat/stop/", headers: { origin: other.origin }, body });
    const stopped = await open;
    expect([stopped.text, stopped.done?.finish_reason, sourcesOf(stopped)]).toEqual([
      "Two days [1].",
      "cancelled",
      [{ number: 1, ...PAGE_SOURCE }],
    ]);
  });

  test("resumed replies and the history keep the sources, transcripts have none, and exports have them [D52/5] [D52/6]", async () => {
    const bot = await addShop("all");
    const token = await signVisitorToken(secret, randomUUID());
    script("Four euros [FILE]. Two days [PAGE].");
    const fields = { session_id: randomUUID(), message: MESSAGE, visitor_token: token };
    const key = { "idempotency-key": randomUUID() };
    const reply = await api.chat(bot, fields, key);
    const sources = [
      { number: 1, ...FILE_SOURCE },
      { number: 2, ...PAGE_SOURCE },
    ];
    expect(sourcesOf(reply)).toEqual(sources);
    const { workspaceId, botSlug } = bot;
    for (const name of Object.keys(DOCUMENTS))
      await system.admin.knowledge.removeSource({ workspaceId, botSlug, name });

    const resumed = await api.chat(bot, fields, key);
    expect([resumed.text, sourcesOf(resumed)]).toEqual([reply.text, sources]);
    const { body } = await api.getHistory(bot, token, { session: fields.session_id });
    const [question, answer] = (body as { messages: object[] }).messages;
    expect(answer).toMatchObject({ content: reply.text, sources });
    expect(question).not.toHaveProperty("sources");
    expect(JSON.stringify(await readTranscript(system, bot, fields.session_id))).not.toContain("cited");

    // Exports have conversations that are a minute old.
    const age =
      "UPDATE conversation.sessions SET started_at = now() - interval '2 minutes' WHERE workspace_id = $1 AND session_id = $2 RETURNING session_id";
    await queryFirstRow(databaseOf(system, workspaceId), age, [workspaceId, fields.session_id]);
    const claims = { ...memberClaims(system, bot), roles: ["parley-owner"] };
    const owner = bearer(await system.sso.sign(claims));
    const read = async (format: string) =>
      (await api.call({ path: `/api/conversations/export.${format}?bot_slug=${botSlug}`, headers: owner })).text;
    const [line = "{}"] = (await read("ndjson")).split("\n");
    const { messages } = JSON.parse(line) as { messages: { rag_chunks_used: number[]; rag_chunks_cited: number[] }[] };
    expect(messages).toMatchObject([{ rag_chunks_cited: [], sources: [] }, { sources }]);
    expect(messages[1]?.rag_chunks_cited.toSorted((a, b) => a - b)).toEqual(
      messages[1]?.rag_chunks_used.toSorted((a, b) => a - b),
    );
    const csv = await read("csv");
    expect(csv.split("\r\n")[0]).toContain(",rag_chunks_used,rag_chunks_cited,sources,");
    expect(csv).toContain('""title"":""prices.txt""');
  });

  test("a bot that shows no sources passes the model's text on [D52/7]", async () => {
    const bot = await addShop("");
    script("Two days [PAGE]. [9]");
    const reply = await api.chat(bot, { message: MESSAGE });
    expect(reply.text).toMatch(/^Two days \[[12]\]\. \[9\]$/);
    expect(sourcesOf(reply)).toBeUndefined();
  });
}
