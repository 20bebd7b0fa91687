import { expect, test } from "vitest";
import { listSteps } from "./steps.ts";

const NEW = { bots: [], keys: [], documents: 0, isTried: false };
const key = { revokedAt: "", lastUsedOn: "" };

test.each([
  ["a new workspace", NEW, []],
  ["a workspace with a bot", { ...NEW, bots: ["a"] }, ["bot"]],
  ["a workspace with documents", { ...NEW, bots: ["a"], documents: 2 }, ["bot", "knowledge"]],
  ["a bot that was tried before it has documents", { ...NEW, bots: ["a"], isTried: true }, ["bot", "try"]],
  ["a key that no page has used", { ...NEW, bots: ["a"], keys: [key] }, ["bot", "key"]],
  ["only a revoked key", { ...NEW, bots: ["a"], keys: [{ ...key, revokedAt: "2026-11-01T00:00:00Z" }] }, ["bot"]],
  ["a used key", { ...NEW, bots: ["a"], keys: [key, { ...key, lastUsedOn: "2026-11-01" }] }, ["bot", "key", "embed"]],
])("lists the steps that are done for %s", (_, workspace, done) => {
  const steps = listSteps(workspace);
  expect(steps.filter(({ isDone }) => isDone).map(({ name }) => name)).toEqual(done);
  expect(steps.map(({ name }) => name)).toEqual(["bot", "knowledge", "try", "key", "embed"]);
});
