import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseSettings } from "./parse.ts";

const page = readFileSync(new URL("../../../../docs/providers.md", import.meta.url), "utf8");
const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = ""]) => yaml);

test("the page has examples", () => {
  expect(examples.length).toBeGreaterThanOrEqual(2);
});

test.each(examples)("a documented file is accepted as it stands:\n%s", (yaml) => {
  const { providers } = parseSettings(yaml, { defaultModel: undefined, readKey: (name) => `value of ${name}` });
  expect(providers.length).toBeGreaterThanOrEqual(2);
});
