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

const NOBODY = {
  ...{ source: "widget", visitor_id: "", visitor_verified: false, consent_version: "", consented_at: "" },
  contact_messages: [] as object[],
};

/** Returns what `conversation show` prints for a transcript with these messages, on a terminal of this width. */
async function show(
  messages: readonly object[],
  columns: number,
  { visitor = NOBODY, costs = [] }: { visitor?: typeof NOBODY; costs?: readonly object[] } = {},
): Promise<string | undefined> {
  const session = { id: "s", bot_slug: "b", started_at: "", ...visitor };
  const service = {
    async *getTranscript() {
      yield { json: Buffer.from(JSON.stringify({ session, messages })) };
    },
    listTurns: async () => ({ turns: costs, nextPageToken: "" }),
  };
  const shown: Result[] = [];
  const context: Partial<Context> = {
    callAdmin: ((_: unknown, call: (client: typeof service) => Promise<Result>) => call(service)) as never,
    report: async (pending) => void shown.push(await pending),
    stdout: Object.assign(new PassThrough(), { isTTY: true, columns }),
  };
  const program = new Command();
  addConversationCommands(program, context as Context);
  await program.parseAsync(["conversation", "show", "s", "--workspace", "ws_1"], { from: "user" });
  return shown[0]?.text;
}

const MESSAGE = { model: "", status: "done", rating: "", rating_reason: "", review: "", created_at: "" };

test("conversation show does not wrap lines if the terminal reports a width of 0", async () => {
  expect(await show([{ ...MESSAGE, role: "user", content: "Where is my order?" }], 0)).toContain(
    "\n  Where is my order?\n",
  );
});

test("conversation show prints what the visitor left for the team after the messages", async () => {
  const contact = { email: "ada@example.com", message: "Call me.\u202e", created_at: "2026-12-02T08:00:00Z" };
  const shown = await show([{ ...MESSAGE, role: "user", content: "Hi" }], 80, {
    visitor: { ...NOBODY, contact_messages: [contact] },
  });
  expect(shown).toMatch(
    / {2}Hi\n+message for the team {2}2026-12-02T08:00:00Z {2}ada@example\.com\n {2}Call me\.\\u\{202e\}/,
  );
});

test("conversation show prints the reason of a rating on one line, with invisible characters escaped", async () => {
  const rated = {
    ...MESSAGE,
    role: "assistant",
    content: "Soon.",
    rating: "down",
    rating_reason: "too\nvague \u202e!",
  };
  expect(await show([rated], 80)).toContain("rated down: too vague \\u{202e}!");
  expect(await show([{ ...rated, rating_reason: "" }], 80)).toMatch(/rated down$/m);
});

test.each<[string, Partial<typeof NOBODY>, string]>([
  ["claimed", { visitor_id: "anna" }, "visitor  anna (claimed)"],
  ["verified", { visitor_id: "anna", visitor_verified: true }, "visitor  anna (verified)"],
  ["anonymous", {}, "visitor"],
  ["a member in the playground", { source: "playground", visitor_id: "anna" }, "visitor  anna"],
])("conversation show marks a visitor who is %s", async (_, fields, line) => {
  expect((await show([], 80, { visitor: { ...NOBODY, ...fields } }))?.split("\n")).toContain(line);
});

test("conversation show prints the visitor's consent only if there is one", async () => {
  const consent = { consent_version: "2026-12", consented_at: "2026-12-01T09:30:00.123456+00:00" };
  expect(await show([], 80, { visitor: { ...NOBODY, ...consent } })).toContain(
    "\nconsent  2026-12 (2026-12-01T09:30:00.123456+00:00)\n",
  );
  expect(await show([], 80)).not.toContain("consent");
});

test("conversation show prints what a reply cost, and how many tokens came from the cache, if the service returns it", async () => {
  const messages = [
    { ...MESSAGE, id: "1", role: "user", content: "When?" },
    { ...MESSAGE, id: "2", role: "assistant", content: "Soon." },
    { ...MESSAGE, id: "4", role: "assistant", content: "Today." },
  ];
  const costs = [
    { turn: { messageId: 2n }, cost: "0.0012500000", tokensCached: 7 },
    { turn: { messageId: 4n }, cost: "", tokensCached: 0 },
  ];
  const shown = await show(messages, 80, { costs });
  expect(shown).toContain("assistant  cost 0.00125  7 tokens from the cache\n");
  expect(shown?.match(/cost/g)).toHaveLength(1);
});
