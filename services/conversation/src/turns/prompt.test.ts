import { fromBinary } from "@bufbuild/protobuf";
import { PromptSchema, Role } from "@parley/rpc/llm";
import { expect, test } from "vitest";
import { readSettings } from "../bots/bot-settings.ts";
import { encodePrompt } from "./prompt.ts";

test("encodePrompt encodes the system prompt, the fallback, the time zone, the passages, the search terms and the history, with the visitor's message last", () => {
  const passages = [{ id: 7, source: "plans.md", heading: "Plans > Free", text: "100 messages." }];
  const terms = [{ word: "free", weight: 2.5 }];
  const history = [{ message: "q1", reply: "a1" }];
  const prompt = fromBinary(
    PromptSchema,
    encodePrompt({
      bot: {
        ...readSettings({}),
        systemPrompt: "s",
        fallback: "f",
        timeZone: "Asia/Tokyo",
        tools: [],
        replyPatterns: [],
      },
      passages,
      terms,
      history,
      message: "now",
    }),
  );
  expect([prompt.system, prompt.fallback, prompt.timeZone]).toEqual(["s", "f", "Asia/Tokyo"]);
  expect(prompt.passages).toMatchObject([
    { id: 7n, source: "plans.md", heading: "Plans > Free", text: "100 messages." },
  ]);
  expect(prompt.terms).toMatchObject([{ word: "free", weight: 2.5 }]);
  expect(prompt.messages.map(({ role, content }) => [role, content])).toEqual([
    [Role.USER, "q1"],
    [Role.ASSISTANT, "a1"],
    [Role.USER, "now"],
  ]);
});
