import { expect, test } from "vitest";
import { readConfig } from "./config.ts";

const VALUES = {
  DATABASE_URL: "postgres://parley_conversation@localhost/parley",
  INTERNAL_TOKEN: "a token of at least 32 characters",
  ADMIN_TOKEN: "another token of at least 32 characters",
};

const readPlanModels = (planModels: unknown) =>
  readConfig({ ...VALUES, PLAN_MODELS: JSON.stringify(planModels) }).planModels;

test("PLAN_MODELS accepts single models, and * for all models of a provider", () => {
  expect(readPlanModels({ pro: ["openai:gpt-5-mini", "ollama:*"] }).get("pro")).toEqual([
    "openai:gpt-5-mini",
    "ollama:*",
  ]);
});

test.each([
  "gpt-5-mini",
  "openai:",
  "openai:gpt 5",
  "openai:modèle",
  `${"p".repeat(33)}:small`,
  `openai:${"m".repeat(200)}`,
])("PLAN_MODELS refuses the model name %s, because no bot can have it", (model) => {
  expect(() => readPlanModels({ pro: [model] })).toThrow("PLAN_MODELS must be JSON like");
});

test.each([[], [["openai:gpt-5-mini"]], null, 5, "openai:gpt-5-mini", { pro: "openai:gpt-5-mini" }])(
  "PLAN_MODELS refuses %j, which is not an object of lists",
  (planModels) => {
    expect(() => readPlanModels(planModels)).toThrow("PLAN_MODELS must be JSON like");
  },
);
