import { describe, expect, it } from "vitest";
import { layoutProblems } from "./layout.ts";

const problemsOf = (path: string, specifier: string, statement = "import { x }") =>
  layoutProblems([{ path, text: `${statement} from "${specifier}";` }]);

const conversation = "services/conversation/src";

describe("layoutProblems", () => {
  it("refuses a file if MAY_IMPORT does not list its package", () => {
    const path = "services/billing/src/main.ts";
    expect(problemsOf(path, "node:fs")).toEqual([`${path}: add its package to MAY_IMPORT`]);
  });

  it.each([
    ["packages/rpc/src/client.ts", "@parley/service-kit"],
    ["packages/service-kit/src/process/run.ts", "@parley/quota"],
    ["services/edge/src/app.ts", "@parley/quota"],
    ["services/edge/src/app.ts", "@parley/test-support"],
    ["services/edge/src/app.ts", "../../quota/src/server.ts"],
    ["packages/widget/src/panel.ts", "@parley/rpc"],
    ["packages/widget/src/panel.ts", "../../../services/edge/src/app.ts"],
    ["tests/contract.test.ts", "../services/edge/src/app.ts"],
    ["tests/contract.test.ts", "@parley/edge"],
    ["tests/support/src/redis.ts", "@parley/rpc"],
    ["tests/support/src/redis.ts", "../../system/system.ts"],
    ["deploy/local/postgres/src/start.ts", "@parley/cli"],
    // Features import each other only through index.ts.
    [`${conversation}/turns/open-turn.rpc.ts`, "../bots/bots.store.ts"],
    [`${conversation}/turns/prompt.ts`, "../bots/slug.ts"],
    // Each role may import only certain roles and modules.
    [`${conversation}/turns/open-turn.store.ts`, "./open-turn.rpc.ts"],
    [`${conversation}/turns/open-turn.store.ts`, "./prices.client.ts"],
    [`${conversation}/turns/open-turn.rpc.ts`, "./close-turn.rpc.ts"],
    [`${conversation}/sweeping/sweeper.worker.ts`, "./renew-edge.rpc.ts"],
    [`${conversation}/turns/prompt.ts`, "./history.store.ts"],
    [`${conversation}/turns/prompt.ts`, "node:fs/promises"],
    [`${conversation}/turns/prompt.ts`, "pg"],
    ["services/edge/src/chat/chat.route.ts", "./sessions.store.ts"],
    ["services/edge/src/auth/public-keys.client.ts", "./keys.worker.ts"],
  ])("refuses that %s imports %s", (path, specifier) => {
    expect(problemsOf(path, specifier)).toEqual([expect.stringContaining(`${path} imports ${specifier}: `)]);
  });

  it.each([
    ["services/edge/src/app.ts", "@parley/rpc/quota"],
    ["services/edge/src/app.ts", "@parley/service-kit"],
    ["services/edge/src/app.ts", "fastify"],
    ["services/edge/src/app.ts", "./chat/chat.route.ts"],
    ["services/edge/src/turns/run-turn.test.ts", "@parley/test-support"],
    ["services/quota/src/usage/reserve.rpc.ts", "./reservations.store.ts"],
    ["services/quota/src/workspaces/workspaces.admin.ts", "../usage/index.ts"],
    ["services/quota/src/migrate.ts", "../migrations/index.ts"],
    [`${conversation}/turns/prompt.test.ts`, "../bots/bots.store.ts"],
    [`${conversation}/testing/turns.ts`, "../bots/bots.store.ts"],
    ["tests/contract.test.ts", "./system/system.ts"],
    ["bench/src/benchmarks/reserve.ts", "../../../services/quota/src/usage/reservations.store.ts"],
    ["tools/layout.ts", "../services/edge/src/config.ts"],
  ])("accepts that %s imports %s", (path, specifier) => {
    expect(problemsOf(path, specifier)).toEqual([]);
  });

  it("accepts type-only imports from a file of any role in the same feature, and isIP from node:net", () => {
    const path = `${conversation}/turns/prompt.ts`;
    expect(problemsOf(path, "./history.store.ts", "import type { Row }")).toEqual([]);
    expect(problemsOf(path, "./history.store.ts", "import { type Row }")).toEqual([]);
    expect(problemsOf(path, "node:net", "import { isIP }")).toEqual([]);
  });

  it("treats a value from an index.ts as imported from the file that declares it", () => {
    const index = {
      path: `${conversation}/bots/index.ts`,
      text: 'export { readBot, type Bot } from "./bots.store.ts";\nexport { isSlug } from "./slug.ts";',
    };
    const importer = (names: string) => ({
      path: `${conversation}/turns/prompt.ts`,
      text: `import { ${names} } from "../bots/index.ts";`,
    });
    expect(layoutProblems([index, importer("isSlug, type Bot")])).toEqual([]);
    expect(layoutProblems([index, importer("isSlug, readBot")])).toHaveLength(1);
  });

  it("refuses a file name with an unknown role suffix", () => {
    expect(layoutProblems([{ path: `${conversation}/turns/open-turn.dao.ts`, text: "" }])).toHaveLength(1);
  });

  it("checks dynamic imports, side-effect imports and re-exports", () => {
    const text = 'import "@parley/quota"; export { y } from "@parley/edge"; await import("@parley/llm-proxy");';
    expect(layoutProblems([{ path: "packages/rpc/src/index.ts", text }])).toHaveLength(3);
  });
});
