import { setTimeout as sleep } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import {
  BotAdminService,
  KeyAdminService,
  ModerationAdminService,
  SessionAdminService,
} from "@parley/rpc/conversation";
import { singleShard } from "@parley/service-kit";
import { freePorts } from "@parley/test-support";
import { describe, expect, test } from "vitest";
import { createTestDatabase } from "../testing/database.ts";
import { addDocument } from "../testing/knowledge.ts";
import { startTestQuota } from "../testing/quota.ts";
import { startTestService } from "../testing/service.ts";
import { insertSessions } from "../testing/sessions.ts";
import { adminFailure, countResultsOfConcurrentInserts, RFC_3339, useTestSystem } from "../testing/system.ts";
import { createBot } from "../testing/turns.ts";
import { eraseDocumentsOfDeletedBots } from "../workspace-deletions/erase-workspaces.worker.ts";
import { readBotConfig } from "./bot-config.store.ts";
import { handleGetLogo } from "./get-logo.rpc.ts";

const system = useTestSystem();

describe("bots", () => {
  test("are created with defaults; a taken slug, an unknown workspace and invalid fields are refused", async () => {
    const bots = system.createAdminClient(BotAdminService);
    system.quota.workspaces.add("acme");
    const { bot } = await bots.createBot({ workspaceId: "acme", slug: "help", changes: { name: "Ada" } });
    expect(bot).toMatchObject({
      workspaceId: "acme",
      slug: "help",
      model: "",
      timeZone: "UTC",
      visitorMessagesPerDay: 0,
      consentText: "",
      consentVersion: "1",
      consentLink: "",
      display: {
        name: "Ada",
        position: "bottom-right",
        themeMode: "system",
        primaryColor: "#2563EB",
        borderRadius: 12,
      },
      createdAt: expect.stringMatching(RFC_3339),
    });
    expect(bot?.fallback).not.toBe("");
    expect(await adminFailure(bots.createBot({ workspaceId: "acme", slug: "help" }))).toMatchObject({
      code: Code.AlreadyExists,
      parleyCode: "slug_taken",
    });
    expect(await adminFailure(bots.createBot({ workspaceId: "unknown", slug: "help" }))).toMatchObject({
      code: Code.NotFound,
      parleyCode: "workspace_not_found",
    });
    for (const slug of ["", "Help", "a b", "x".repeat(65), "ü"])
      expect(await adminFailure(bots.createBot({ workspaceId: "acme", slug }))).toMatchObject({
        code: Code.InvalidArgument,
      });
    expect(
      await adminFailure(bots.createBot({ workspaceId: "acme", slug: "b", changes: { themeMode: "neon" } })),
    ).toMatchObject({ code: Code.InvalidArgument, message: expect.stringContaining("theme_mode") });
  });

  test("are duplicated with their settings and patterns, and without keys and tools", async () => {
    const original = await createBot(system.database, { systemPrompt: "Be brief.", model: "builtin:extractive" });
    const { workspaceId, slug } = original;
    system.quota.workspaces.add(workspaceId);
    const [bots, patterns] = [
      system.createAdminClient(BotAdminService),
      system.createAdminClient(ModerationAdminService),
    ];
    for (const pattern of ["first", "second"])
      await patterns.addPattern({ workspaceId, botSlug: slug, pattern, appliesTo: "both", reason: "r" });
    await system.createAdminClient(KeyAdminService).createKey({ workspaceId, botSlug: slug, domains: ["a.example"] });
    const duplicate = (fields: { slug?: string; newSlug?: string; changes?: { name?: string } }) =>
      bots.duplicateBot({ workspaceId, slug, newSlug: "copy", ...fields });
    const { bot } = await duplicate({ changes: { name: "Copy" } });
    expect(bot).toMatchObject({
      slug: "copy",
      systemPrompt: "Be brief.",
      model: "builtin:extractive",
      fallback: original.fallback,
      display: { name: "Copy", primaryColor: original.display.primaryColor },
    });
    expect(bot?.id).not.toBe(original.id);
    const copied = await patterns.listPatterns({ workspaceId, botSlug: "copy" });
    expect(copied.patterns).toMatchObject([
      { pattern: "first", appliesTo: "both", reason: "r" },
      { pattern: "second" },
    ]);
    const { keys } = await system.createAdminClient(KeyAdminService).listKeys({ workspaceId });
    expect(keys.map(({ botSlug }) => botSlug)).toEqual([slug]);
    expect(await adminFailure(duplicate({}))).toMatchObject({ parleyCode: "slug_taken" });
    expect(await adminFailure(duplicate({ slug: "absent", newSlug: "c" }))).toMatchObject({
      parleyCode: "bot_not_found",
    });
    expect(await adminFailure(duplicate({ newSlug: "Bad" }))).toMatchObject({ parleyCode: "invalid_argument" });
  });

  test("are deleted with their keys, documents and rules; their conversations and their slug stay", async () => {
    const bot = await createBot(system.database, { systemPrompt: "Secret." });
    const kept = await createBot(system.database, { workspaceId: bot.workspaceId });
    const { workspaceId, slug } = bot;
    system.quota.workspaces.add(workspaceId);
    const bots = system.createAdminClient(BotAdminService);
    const keys = system.createAdminClient(KeyAdminService);
    for (const botSlug of [slug, kept.slug]) await keys.createKey({ workspaceId, botSlug, domains: ["a.example"] });
    for (const each of [bot, kept])
      for (const name of ["a", "b"]) await addDocument(system.database, each, name, "words");
    const [sessionId] = await insertSessions(system.admin, bot, { sessions: 1 });
    await bots.deleteBot({ workspaceId, slug });
    expect((await bots.listBots({ workspaceId })).bots.map((each) => each.slug)).toEqual([kept.slug]);
    expect(await adminFailure(bots.getBot({ workspaceId, slug }))).toMatchObject({ parleyCode: "bot_not_found" });
    expect(await adminFailure(bots.deleteBot({ workspaceId, slug }))).toMatchObject({ parleyCode: "bot_not_found" });
    expect(await adminFailure(bots.createBot({ workspaceId, slug }))).toMatchObject({ parleyCode: "slug_taken" });
    expect(await adminFailure(keys.createKey({ workspaceId, botSlug: slug, domains: ["a.example"] }))).toMatchObject({
      parleyCode: "bot_not_found",
    });
    expect((await keys.listKeys({ workspaceId })).keys.map(({ botSlug }) => botSlug)).toEqual([kept.slug]);
    expect(await readBotConfig(system.database, workspaceId, bot.id)).toBeUndefined();
    const { sessions } = await system.createAdminClient(SessionAdminService).listSessions({ workspaceId });
    expect(sessions).toMatchObject([{ id: sessionId, botSlug: slug }]);
    await eraseDocumentsOfDeletedBots(system.database, new AbortController().signal);
    const { rows } = await system.admin.query(
      `SELECT b.slug, b.settings->>'systemPrompt' AS prompt, count(s.name)::integer AS documents
       FROM conversation.bots b LEFT JOIN conversation.knowledge_sources s USING (workspace_id, bot_id)
       WHERE workspace_id = $1 GROUP BY b.slug, b.settings ORDER BY documents`,
      [workspaceId],
    );
    expect(rows).toEqual([
      { slug, prompt: null, documents: 0 },
      { slug: kept.slug, prompt: kept.systemPrompt, documents: 2 },
    ]);
  });

  test("have logos, which are found by their hash until the bot is deleted; only images are accepted", async () => {
    const bot = await createBot(system.database);
    const { workspaceId, slug } = bot;
    const bots = system.createAdminClient(BotAdminService);
    const gif = (width: number) => Buffer.from(`GIF89a${String.fromCharCode(width)}\0\x01\0\0\0\0;`, "latin1");
    const upload = async (content: Uint8Array) => (await bots.uploadLogo({ workspaceId, slug, content })).path;
    const paths: string[] = [];
    for (let width = 1; width <= 6; width++) {
      paths.push(await upload(gif(width)));
      // The first one is in use.
      if (width === 1)
        await bots.updateBot({ workspaceId, slug, changes: { logoUrl: `https://chat.example.com${paths[0]}` } });
    }
    expect(paths[0]).toMatch(/^\/widget\/logos\/[0-9a-f]{64}$/);
    const find = (path = "") =>
      handleGetLogo(singleShard(system.database).shards, { hash: path.split("/").at(-1) ?? "" });
    expect(await find(paths[0])).toEqual({ contentType: "image/gif", content: gif(1) });
    // Besides the logo in use, the last three are kept.
    const kept = await Promise.allSettled(paths.map(find));
    expect(kept.map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
      "fulfilled",
      "fulfilled",
    ]);
    expect(await upload(gif(6))).toBe(paths[5]);
    for (const [content, code] of [
      ["<svg xmlns='http://www.w3.org/2000/svg'/>", "unsupported_logo"],
      ["x".repeat(200 * 1024 + 1), "logo_too_large"],
    ] as const)
      expect(await adminFailure(upload(Buffer.from(content)))).toMatchObject({ parleyCode: code });
    expect(await adminFailure(bots.uploadLogo({ workspaceId, slug: "absent", content: gif(1) }))).toMatchObject({
      parleyCode: "bot_not_found",
    });
    // The copy of a bot has the logo in use, so it keeps it when the bot is deleted.
    await bots.duplicateBot({ workspaceId, slug, newSlug: "copy" });
    await bots.deleteBot({ workspaceId, slug });
    expect(await find(paths[0])).toMatchObject({ contentType: "image/gif" });
    await expect(find(paths[5])).rejects.toMatchObject({ code: "logo_not_found" });
    await bots.deleteBot({ workspaceId, slug: "copy" });
    await expect(find(paths[0])).rejects.toMatchObject({ code: "logo_not_found" });
    await expect(find("not-a-hash")).rejects.toMatchObject({ code: "logo_not_found" });
  });

  test("are limited to 200 in a workspace", async () => {
    system.quota.workspaces.add("full");
    await system.admin.query(
      `INSERT INTO conversation.bots (workspace_id, bot_id, slug, settings, display)
       SELECT 'full', gen_random_uuid(), 'b-' || n, '{}', '{}' FROM generate_series(1, 200) n`,
    );
    expect(
      await adminFailure(
        system.createAdminClient(BotAdminService).createBot({ workspaceId: "full", slug: "one-more" }),
      ),
    ).toMatchObject({ code: Code.ResourceExhausted, parleyCode: "too_many_bots" });
  });

  test("are not created beyond the limit by concurrent calls", async () => {
    system.quota.workspaces.add("nearly-full");
    await system.admin.query(
      `INSERT INTO conversation.bots (workspace_id, bot_id, slug, settings, display)
       SELECT 'nearly-full', gen_random_uuid(), 'b-' || n, '{}', '{}' FROM generate_series(1, 199) n`,
    );
    const create = (n: number) =>
      system.createAdminClient(BotAdminService).createBot({ workspaceId: "nearly-full", slug: `c-${n}` });
    expect(await countResultsOfConcurrentInserts(system.admin, "conversation.bots", create)).toEqual({
      ok: 1,
      too_many_bots: 19,
    });
  });

  test("are not created while the quota service, which owns workspaces, is down", async () => {
    system.quota.isUnavailable = true;
    const refused = await adminFailure(
      system.createAdminClient(BotAdminService).createBot({ workspaceId: "acme", slug: "late" }),
    );
    system.quota.isUnavailable = false;
    expect(refused).toMatchObject({ code: Code.Unavailable });
  });

  test("keep the fields that an update does not set, even if updates are concurrent", async () => {
    const bots = system.createAdminClient(BotAdminService);
    const { workspaceId, slug } = await createBot(system.database);
    await Promise.all([
      bots.updateBot({ workspaceId, slug, changes: { name: "Ada", quickReplies: { values: ["a", "b"] } } }),
      bots.updateBot({
        workspaceId,
        slug,
        changes: { primaryColor: "#ABCDEF", model: "openai:x", customCssVars: { values: { "--a": "1px" } } },
      }),
    ]);
    const { bot } = await bots.getBot({ workspaceId, slug });
    expect(bot).toMatchObject({
      model: "openai:x",
      systemPrompt: "Answer briefly.",
      display: {
        name: "Ada",
        primaryColor: "#ABCDEF",
        quickReplies: ["a", "b"],
        customCssVars: { "--a": "1px" },
        borderRadius: 12,
      },
    });
    const cleared = await bots.updateBot({
      workspaceId,
      slug,
      changes: { quickReplies: {}, customCssVars: {}, model: "" },
    });
    expect(cleared.bot).toMatchObject({ model: "", display: { quickReplies: [], customCssVars: {} } });
  });

  test("are listed in the order of their slugs, and are not found in other workspaces", async () => {
    const bots = system.createAdminClient(BotAdminService);
    const first = await createBot(system.database, { slug: "zoe" });
    const { workspaceId } = first;
    await createBot(system.database, { workspaceId, slug: "abe" });
    expect((await bots.listBots({ workspaceId })).bots.map((bot) => bot.slug)).toEqual(["abe", "zoe"]);
    const foreignBot = await createBot(system.database, { slug: "eve" });
    expect((await bots.listBots({ workspaceId: "\0" })).bots).toEqual([]);
    const missing = await adminFailure(bots.getBot({ workspaceId, slug: "none" }));
    expect(missing).toMatchObject({ code: Code.NotFound, parleyCode: "bot_not_found" });
    expect(await adminFailure(bots.getBot({ workspaceId, slug: foreignBot.slug }))).toEqual(missing);
    expect(await adminFailure(bots.updateBot({ workspaceId, slug: foreignBot.slug, changes: {} }))).toEqual(missing);
    expect(await adminFailure(bots.getBot({ workspaceId: "\0", slug: "\0" }))).toEqual(missing);
  });

  test("are created when the quota service becomes ready during the call", async () => {
    const { url, drop } = await createTestDatabase();
    const [port = 0] = await freePorts(1);
    const service = await startTestService(url, `127.0.0.1:${port}`);
    const creation = service
      .createAdminClient(BotAdminService)
      .createBot({ workspaceId: "acme", slug: "help", changes: {} });
    await sleep(500);
    const quota = await startTestQuota(port);
    quota.workspaces.add("acme");
    try {
      expect((await creation).bot).toMatchObject({ workspaceId: "acme", slug: "help" });
    } finally {
      await service.stop();
      quota.close();
      await drop();
    }
  });
});
