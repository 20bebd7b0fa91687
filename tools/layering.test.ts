import { describe, expect, it } from "vitest";
import { layeringProblems } from "./layering.ts";

const problemsOf = (path: string, specifier: string) =>
  layeringProblems([{ path, text: `import { x } from "${specifier}";` }]);

describe("layeringProblems", () => {
  it.each([
    ["packages/rpc/src/client.ts", "@parley/service-kit"],
    ["packages/service-kit/src/run.ts", "@parley/quota"],
    ["services/edge/src/app.ts", "@parley/quota"],
    ["services/edge/src/app.ts", "@parley/test-support"],
    ["services/edge/src/app.ts", "../../quota/src/server.ts"],
    ["packages/widget/src/panel.ts", "@parley/rpc"],
    ["packages/widget/src/panel.ts", "../../../services/edge/src/app.ts"],
    ["tests/contract.test.ts", "../services/edge/src/app.ts"],
    ["tests/contract.test.ts", "@parley/edge"],
    ["services/quota/src/usage/month.ts", "../store/usage.ts"],
    ["services/quota/src/usage/usage.store.ts", "../rpc/reserve.ts"],
  ])("refuses that %s imports %s", (path, specifier) => {
    expect(problemsOf(path, specifier)).toEqual([expect.stringContaining(`${path} imports ${specifier}: `)]);
  });

  it.each([
    ["services/edge/src/app.ts", "@parley/rpc/quota"],
    ["services/edge/src/app.ts", "@parley/service-kit"],
    ["services/edge/src/app.ts", "fastify"],
    ["services/edge/src/turn/turn.test.ts", "@parley/test-support"],
    ["services/quota/src/usage/reserve.rpc.ts", "../store/reservations.ts"],
    ["services/quota/src/usage/usage.store.ts", "../domain/month.ts"],
    ["services/quota/src/migrate.ts", "../migrations/index.ts"],
    ["tests/contract.test.ts", "./support/system.ts"],
  ])("accepts that %s imports %s", (path, specifier) => {
    expect(problemsOf(path, specifier)).toEqual([]);
  });

  it("sees imports that are dynamic, for their effect, and passed on", () => {
    const ours = (name: string) => `"@parley/${name}"`;
    const text = `import ${ours("quota")}; export { y } from ${ours("edge")}; await import(${ours("llm-proxy")});`;
    expect(layeringProblems([{ path: "packages/rpc/src/index.ts", text }])).toHaveLength(3);
  });
});
