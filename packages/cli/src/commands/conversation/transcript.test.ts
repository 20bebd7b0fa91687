import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { Command } from "@commander-js/extra-typings";
import type { CallOptions } from "@connectrpc/connect";
import { expect, test } from "vitest";
import type { CallAdmin } from "../../admin/call.ts";
import type { Context } from "../../context.ts";
import type { Result } from "../../output/result.ts";
import { addConversationCommands } from "./conversation.ts";
import { copyTranscript } from "./transcript.ts";

test("the export of a transcript times out only after one hour, because the reader of the output may pause", async () => {
  let timeoutMs: number | undefined;
  const service = {
    async *getTranscript(_: object, options?: CallOptions) {
      timeoutMs = options?.timeoutMs;
      yield { json: Buffer.from('{"a":1}') };
    },
  };
  const callAdmin = ((_: unknown, call: (client: typeof service) => Promise<void>) =>
    call(service)) as unknown as CallAdmin;
  const output = new PassThrough();
  await copyTranscript(callAdmin, { workspaceId: "ws_1", sessionId: "s" }, output);
  output.end();
  expect([await text(output), timeoutMs]).toEqual(['{"a":1}\n', 3_600_000]);
});

test("conversation show does not wrap lines if the terminal reports a width of 0", async () => {
  const session = { id: "s", bot_slug: "b", source: "widget", visitor_id: "", started_at: "" };
  const message = { role: "user", content: "Where is my order?", model: "", status: "done", rating: "", review: "" };
  const document = { session, messages: [{ ...message, created_at: "" }] };
  const service = {
    async *getTranscript() {
      yield { json: Buffer.from(JSON.stringify(document)) };
    },
  };
  const shown: Result[] = [];
  const context: Partial<Context> = {
    callAdmin: ((_: unknown, call: (client: typeof service) => Promise<Result>) => call(service)) as never,
    report: async (pending) => void shown.push(await pending),
    stdout: Object.assign(new PassThrough(), { isTTY: true, columns: 0 }),
  };
  const program = new Command();
  addConversationCommands(program, context as Context);
  await program.parseAsync(["conversation", "show", "s", "--workspace", "ws_1"], { from: "user" });
  expect(shown[0]?.text).toContain("\n  Where is my order?\n");
});
