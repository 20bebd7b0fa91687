import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { PromptSchema, Role } from "@parley/rpc/llm";
import { describe, expect, test } from "vitest";
import { estimateTokens } from "../tokens/index.ts";
import type { ToolRound } from "../tools/index.ts";
import { fitPrompt } from "./fit-prompt.ts";

const WINDOW = { tokens: 8_192, outputTokens: undefined };
const words = (count: number) => "word ".repeat(count);
const user = (content: string) => ({ role: Role.USER, content });
const assistant = (content: string) => ({ role: Role.ASSISTANT, content });

type PromptInit = MessageInitShape<typeof PromptSchema>;

function fitTo(
  init: PromptInit,
  { results = [], window = WINDOW }: { results?: string[]; window?: typeof WINDOW } = {},
) {
  const prompt = create(PromptSchema, { messages: [user("Where is it?")], ...init });
  const calls = results.map((result, index) => ({ request: { id: `${index}`, name: "t", arguments: "{}" }, result }));
  const toolRounds: ToolRound[] = results.length === 0 ? [] : [{ text: "", assistantMessage: undefined, calls }];
  const fitted = fitPrompt({ prompt, tools: [], toolRounds }, window);
  const texts = [
    fitted.prompt.system,
    ...fitted.prompt.passages.map(({ text }) => text),
    ...fitted.prompt.messages.map(({ content }) => content),
    ...fitted.toolRounds.flatMap((round) => round.calls.map(({ result }) => result)),
  ];
  return {
    ...fitted,
    original: { prompt, toolRounds },
    tokens: texts.reduce((sum, text) => sum + estimateTokens(text), 0),
  };
}

test("leaves a prompt that fits as it is", () => {
  const { prompt, toolRounds, original } = fitTo(
    { system: words(100), messages: [user("a"), assistant("b"), user("c")] },
    { results: ["{}"] },
  );
  expect(prompt).toBe(original.prompt);
  expect(toolRounds).toBe(original.toolRounds);
});

describe("the newest exchange", () => {
  test("is kept, and shortened in the middle if it is long", () => {
    const { prompt, tokens } = fitTo({ messages: [user("q"), assistant(`begin ${words(20_000)}end`), user("next")] });
    expect(prompt.messages.map(({ role }) => role)).toEqual([Role.USER, Role.ASSISTANT, Role.USER]);
    expect(prompt.messages[0]?.content).toBe("q");
    expect(prompt.messages[1]?.content).toMatch(/^begin word[\s\S]*\n\[…\]\n[\s\S]*end$/);
    expect(prompt.messages[2]?.content).toBe("next");
    expect(tokens).toBeLessThan(WINDOW.tokens / 2);
  });

  test("is kept beside instructions, knowledge and a message that are larger than the window", () => {
    const passages = Array.from({ length: 8 }, (_, id) => ({
      id: BigInt(id),
      source: "a.md",
      heading: "",
      text: words(2_000),
    }));
    const { prompt, tokens } = fitTo({
      system: `You are ${words(20_000)}kind.`,
      passages,
      messages: [user(words(5_000)), assistant(words(5_000)), user(`Where ${"🎂".repeat(4_000)} is it?`)],
    });
    expect(prompt.messages).toHaveLength(3);
    for (const { content } of prompt.messages) expect(estimateTokens(content)).toBeGreaterThan(50);
    expect(prompt.messages.at(-1)?.content).toMatch(/^Where[\s\S]+\[…\][\s\S]+is it\?$/);
    expect(prompt.system).toMatch(/^You are[\s\S]+\[…\][\s\S]+kind\.$/);
    expect(tokens).toBeLessThan(6_200);
  });
});

test("leaves out older exchanges first, so that the history takes at most a quarter", () => {
  const messages = Array.from({ length: 50 }, (_, index) => [user(`q${index}`), assistant(words(200))]).flat();
  const { prompt } = fitTo({ messages: [...messages, user("next")] });
  const history = prompt.messages.slice(0, -1);
  expect(history.at(-2)?.content).toBe("q49");
  expect(history.length).toBeGreaterThan(4);
  expect(history.reduce((sum, { content }) => sum + estimateTokens(content), 0)).toBeLessThan(WINDOW.tokens / 4);
});

test("keeps many short messages", () => {
  const messages = Array.from({ length: 50 }, () => [user("ok"), assistant("ok")]).flat();
  expect(
    fitTo({ messages: [...messages, user("next")] }, { window: { ...WINDOW, tokens: 32_768 } }).prompt.messages,
  ).toHaveLength(101);
});

test("leaves out the last passages as a whole", () => {
  const passages = Array.from({ length: 8 }, (_, id) => ({
    id: BigInt(id),
    source: "a.md",
    heading: "h",
    text: words(1_000),
  }));
  const { prompt } = fitTo({ passages });
  expect(prompt.passages.map(({ id }) => id)).toEqual([0n, 1n, 2n, 3n]);
});

test("shortens the results of tools that are larger than the window, the longest first", () => {
  const { toolRounds, tokens } = fitTo({}, { results: [words(30_000), "short", `begin ${words(30_000)}end`] });
  const [first, second, third] = toolRounds[0]?.calls.map(({ result }) => result) ?? [];
  expect(second).toBe("short");
  expect(third).toMatch(/^begin[\s\S]+\[…\][\s\S]+end$/);
  expect(Math.abs(estimateTokens(first ?? "") - estimateTokens(third ?? ""))).toBeLessThan(200);
  expect(tokens).toBeLessThan(WINDOW.tokens / 2);
});

test("keeps room for the completion", () => {
  const system = words(20_000);
  const half = fitTo({ system }, { window: { tokens: 20_000, outputTokens: undefined } }).tokens;
  expect(fitTo({ system }, { window: { tokens: 20_000, outputTokens: 100 } as never }).tokens).toBeGreaterThan(half);
});

test("takes less than 300 ms of CPU time for a prompt of a megabyte", () => {
  fitTo({ system: words(1_000) });
  const start = process.cpuUsage();
  fitTo({ system: words(200_000), messages: [user("a"), assistant(words(50_000)), user("b")] });
  const { user: cpu } = process.cpuUsage(start);
  expect(cpu / 1_000).toBeLessThan(300);
});
