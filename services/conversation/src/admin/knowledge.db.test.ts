import { Code } from "@connectrpc/connect";
import { KnowledgeAdminService } from "@parley/rpc/conversation";
import { describe, expect, test } from "vitest";
import type { Bot } from "../store/bots.ts";
import { adminFailure, useTestSystem } from "../testing/system.ts";
import { createBot } from "../testing/turns.ts";

const system = useTestSystem();
const nameOf = (bot: Bot) => ({ workspaceId: bot.workspaceId, botSlug: bot.slug });
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe("knowledge", () => {
  test("is added, replaced, listed and removed by name", async () => {
    const knowledge = system.ops(KnowledgeAdminService);
    const bot = await createBot(system.database);
    const add = (name: string, format: string, content: string | Uint8Array) =>
      knowledge.addSource({ ...nameOf(bot), name, format, content: Buffer.from(content) });
    await add("b.html", "html", "<h1>Hours</h1><p>Nine to six.</p>");
    const { source } = await add(" a.md ", "md", "\uFEFF# Plans\n\nFree: **100**.");
    expect(source).toMatchObject({
      name: "a.md",
      format: "md",
      chunks: 1,
      characters: 10,
      updatedAt: expect.stringMatching(RFC_3339),
    });
    expect((await add("a.md", "txt", "Other.")).source).toMatchObject({ id: source?.id, format: "txt" });
    expect((await knowledge.listSources(nameOf(bot))).sources.map((each) => each.name)).toEqual(["a.md", "b.html"]);
    await knowledge.removeSource({ ...nameOf(bot), name: "a.md" });
    expect(await adminFailure(knowledge.removeSource({ ...nameOf(bot), name: "a.md" }))).toMatchObject({
      stable: "source_not_found",
    });
    for (const [name, format, content] of [
      ["", "md", "x"],
      ["x".repeat(201), "md", "x"],
      ["a", "pdf", "x"],
      ["a", "md", ""],
      ["a", "html", "<script>x</script>"],
      ["a", "txt", "a\0b"],
      ["a", "txt", Uint8Array.of(0xff, 0xfe)],
      ["a", "txt", "x".repeat(4 * 1024 * 1024 + 1)],
    ] as const) {
      expect(await adminFailure(add(name, format, content)), `${name} ${format}`).toMatchObject({
        code: Code.InvalidArgument,
      });
    }
  });
});
