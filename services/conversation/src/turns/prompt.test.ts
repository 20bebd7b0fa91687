import { fromBinary, type JsonObject } from "@bufbuild/protobuf";
import { PromptSchema, Role } from "@parley/rpc/llm";
import { expect, test } from "vitest";
import { readSettings } from "../bots/bot-settings.ts";
import { encodePrompt } from "./prompt.ts";

const parts = { passages: [], terms: [], history: [], message: "now" };
const botWith = (settings: JsonObject) => ({ ...readSettings(settings), tools: [], replyPatterns: [] });

test("encodePrompt encodes the bot's settings of its model, and nothing of a bot without them", () => {
  const settingsOf = (stored: JsonObject) =>
    fromBinary(PromptSchema, encodePrompt({ ...parts, bot: botWith(stored) })).settings;
  expect(settingsOf({})).toBeUndefined();
  expect(settingsOf({ temperature: null, topP: null, maxOutputTokens: 0, reasoningEffort: "" })).toBeUndefined();
  expect(settingsOf({ temperature: 0, maxOutputTokens: 300 })).toMatchObject({ temperature: 0, maxOutputTokens: 300 });
  expect(settingsOf({ topP: 0.5, reasoningEffort: "low" })).toMatchObject({ topP: 0.5, reasoningEffort: "low" });
});

test("encodePrompt encodes the system prompt, the fallback, the time zone, the passages, the search terms and the history, with the visitor's message last", () => {
  const passages = [
    { id: 7, sourceId: 2, source: "plans.md", url: "", heading: "Plans > Free", text: "100 messages." },
  ];
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

test("encodePrompt asks for citations if the bot shows sources, but not for an owner's answer", () => {
  const page = { source: "https://shop.example.com/plans", url: "https://shop.example.com/plans" };
  const passages = [
    { id: 7, sourceId: 2, ...page, heading: "Plans > Free", text: "100 messages." },
    { id: 8, sourceId: 3, source: "prices.pdf", url: "", heading: "", text: "9 euros." },
  ];
  const encode = (showSources: string, answer = "") => {
    const prompt = encodePrompt({ ...parts, bot: botWith({ showSources }), passages, answer });
    const { citesSources, passages: encoded } = fromBinary(PromptSchema, prompt);
    return [citesSources, ...encoded.map(({ sourceId, shown }) => [sourceId, shown?.title, shown?.url])];
  };
  const hidden = [0n, undefined, undefined];
  const shownPage = [2n, "Plans", page.url];
  expect(encode("off")).toEqual([false, hidden, hidden]);
  expect(encode("links")).toEqual([true, shownPage, [3n, undefined, undefined]]);
  expect(encode("all")).toEqual([true, shownPage, [3n, "prices.pdf", ""]]);
  expect(encode("all", "Nine euros.")).toEqual([false, hidden, hidden]);
});
