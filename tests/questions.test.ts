import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describeWith, startRedis } from "@parley/test-support";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { chat, postChat } from "./system/chat.ts";
import { cliEnv, runCliInProcess } from "./system/cli.ts";
import { root } from "./system/processes.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";

// A command takes seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 180_000 });

const DOCUMENT = "docs/operations/questions.md";
const QUESTIONS = 5;

describeWith("redis-server", "the five questions", () => {
  let system: System;
  let env: Record<string, string>;
  let tenant: Tenant;
  const resources = new AsyncDisposableStack();
  afterAll(() => resources.disposeAsync());
  beforeAll(async () => {
    const redis = await startRedis();
    resources.defer(() => redis.stop());
    system = await startSystem({ redisUrl: redis.url });
    resources.defer(() => system.stop());
    env = { ...cliEnv(system), PARLEY_EDGE_URL: `http://127.0.0.1:${system.edges[0]?.opsPort}` };
    tenant = await createTenant(system.admin);
    await chat(system.url(), tenant);
    const refused = await postChat(system.url(), tenant, {}, { headers: { origin: "https://elsewhere.example" } });
    expect(refused.status).toBe(403);
    const list = () => runCliInProcess(["refusals", "--workspace", tenant.workspaceId], env);
    await vi.waitFor(async () => expect((await list()).stdout).toContain("origin_not_allowed"), 10_000);
  });

  const readDocument = () => readFile(join(root, DOCUMENT), "utf8");
  /** Returns the titles of a table, or the labels of the lines before the first empty line. */
  function shapeOf(text: string): (string | undefined)[] {
    const lines = (text.split("\n\n")[0] ?? "").trimEnd().split("\n");
    const isTable = /^[A-Z]/.test(lines[0] ?? "");
    return isTable ? (lines[0] ?? "").split(/ {2,}/) : lines.map((line) => /^ *[^ ]+(?: [^ ]+)*/.exec(line)?.[0]);
  }

  test("every command of the five questions prints what its example shows", async () => {
    const document = await readDocument();
    const examples = [...document.matchAll(/```sh\nparley (.+)\n```\n\n```\n([\s\S]+?)```/g)];
    expect(examples.length).toBeGreaterThanOrEqual(QUESTIONS);
    for (const [, command = "", example = ""] of examples) {
      const { code, stdout, stderr } = await runCliInProcess(
        command.replace(" W ", ` ${tenant.workspaceId} `).split(" "),
        env,
      );
      expect([code, stderr], command).toEqual([0, ""]);
      expect(shapeOf(stdout), command).toEqual(shapeOf(example));
    }
  });

  test("every question has a command and a panel that exists", async () => {
    const rows = [...(await readDocument()).matchAll(/^\| \[.+\?\]\(#.+?\) +\| `parley .+?` +\| (.+?) +\|$/gm)];
    expect(rows).toHaveLength(QUESTIONS);
    const dashboards = await readFile(join(root, "docs/operations/dashboards.md"), "utf8");
    for (const [, panels = ""] of rows) {
      const names = [...panels.matchAll(/_(.+?)_/g)].map(([, name]) => name);
      expect(names).not.toEqual([]);
      for (const name of names) expect(dashboards).toContain(`| ${name} |`);
    }
  });
});
