import { Code } from "@connectrpc/connect";
import { KnowledgeAdminService } from "@parley/rpc/conversation";
import { describe, expect, test } from "vitest";
import { adminFailure, useTestSystem } from "../testing/system.ts";
import { botFields, createBot } from "../testing/turns.ts";

const system = useTestSystem();

describe("a knowledge source with content", () => {
  test("is refused if its name, format or content is invalid", async () => {
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
      // Each case has its own workspace, because the service limits the time that it spends on a workspace's unreadable documents.
      const bot = await createBot(system.database);
      const source = { ...botFields(bot), name, format, content: Buffer.from(content as string) };
      expect(
        await adminFailure(system.createAdminClient(KnowledgeAdminService).addSource(source)),
        `${name} ${format}`,
      ).toMatchObject({
        code: Code.InvalidArgument,
      });
    }
  });
});
