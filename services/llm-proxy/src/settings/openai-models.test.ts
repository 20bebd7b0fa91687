import { describe, expect, test } from "vitest";
import { findOpenAiRefusal } from "./openai-models.ts";
import type { Sampling } from "./settings.ts";

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"] as const;

/** By model: the efforts that it accepts. */
test.each([
  ["gpt-5", "minimal low medium high"],
  ["gpt-5-2025-08-07", "minimal low medium high"],
  ["gpt-5-nano", "minimal low medium high"],
  ["gpt-5-codex", "low medium high"],
  ["gpt-5-pro-2025-10-06", "high"],
  ["gpt-5-chat-latest", ""],
  ["gpt-5-search-api", ""],
  ["gpt-5.1", "none low medium high"],
  ["gpt-5.1-2025-11-13", "none low medium high"],
  ["gpt-5.1-chat-latest", "medium"],
  ["gpt-5.1-codex", "low medium high"],
  ["gpt-5.1-codex-max", "low medium high xhigh"],
  ["gpt-5.3-codex", "low medium high xhigh"],
  ["gpt-5.2-pro", "medium high xhigh"],
  ["gpt-5.4-mini", "none low medium high xhigh"],
  ["gpt-5.5", "none low medium high xhigh"],
  ["gpt-5.10", "none low medium high xhigh"],
  ["o1-mini", ""],
  ["o1", "low medium high"],
  ["o3-mini", "low medium high"],
  ["o4-mini-2025-04-16", "low medium high"],
  ["gpt-4.1-nano", ""],
  ["gpt-4o-mini", ""],
  ["chatgpt-4o-latest", ""],
  ["ft:gpt-4o-mini-2024-07-18:shop::abc", ""],
  ["ft:o4-mini-2025-04-16:shop::abc", "low medium high"],
])("%s accepts the efforts %j", (model, accepted) => {
  const isAccepted = (reasoningEffort: (typeof EFFORTS)[number]) =>
    findOpenAiRefusal(model, { reasoningEffort }) === undefined;
  expect(EFFORTS.filter(isAccepted).join(" ")).toBe(accepted);
});

describe("temperature and top_p", () => {
  const refusedBy = (model: string, sampling: Sampling) => findOpenAiRefusal(model, sampling)?.setting;

  test.each(["gpt-4o-mini", "gpt-4.1", "gpt-3.5-turbo", "chatgpt-4o-latest", "gpt-5-chat-latest"])(
    "are accepted by %s",
    (model) => {
      expect(refusedBy(model, { temperature: 2, topP: 0.5 })).toBeUndefined();
    },
  );

  test.each(["o1", "o3", "o4-mini", "gpt-5", "gpt-5-mini", "gpt-5.1-chat-latest", "gpt-5.2-codex", "gpt-5.2-pro"])(
    "are refused by %s",
    (model) => {
      expect(refusedBy(model, { temperature: 0.2 })).toBe("temperature");
      expect(refusedBy(model, { topP: 0.5 })).toBe("topP");
    },
  );

  test.each(["gpt-5.1", "gpt-5.2", "gpt-5.4"])("are accepted by %s unless an effort makes it reason", (model) => {
    expect(refusedBy(model, { temperature: 0.2 })).toBeUndefined();
    expect(refusedBy(model, { temperature: 0.2, reasoningEffort: "none" })).toBeUndefined();
    expect(refusedBy(model, { temperature: 0.2, reasoningEffort: "low" })).toBe("temperature");
  });

  test.each(["gpt-5.5", "gpt-5.6"])("are accepted by %s only with the effort none", (model) => {
    expect(findOpenAiRefusal(model, { temperature: 0.2 })?.rule).toContain("set reasoning_effort to none");
    expect(refusedBy(model, { topP: 0.2, reasoningEffort: "none" })).toBeUndefined();
    expect(refusedBy(model, { topP: 0.2, reasoningEffort: "high" })).toBe("topP");
  });

  test("nothing is refused of an unknown model", () => {
    expect(refusedBy("next-1", { temperature: 2, reasoningEffort: "minimal" })).toBeUndefined();
  });
});
