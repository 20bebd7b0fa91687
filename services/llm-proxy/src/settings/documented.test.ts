import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseSettings } from "./parse.ts";

const read = (page: string) => readFileSync(new URL(`../../../../docs/${page}`, import.meta.url), "utf8");
const examplesOf = (page: string) => [...read(page).matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = ""]) => yaml);
const examples = [...examplesOf("providers.md"), ...examplesOf("tools.md")];

test("the documents have examples", () => {
  expect(examples.length).toBeGreaterThanOrEqual(3);
});

test.each(examples)("a documented example is valid and declares a provider besides the built-in one:\n%s", (yaml) => {
  const { providers } = parseSettings(yaml, { defaultModel: undefined, readSecret: (name) => `value of ${name}` });
  expect(providers.length).toBeGreaterThanOrEqual(2);
});
