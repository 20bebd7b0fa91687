import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { timed } from "./checks.ts";
import { run } from "./commands.ts";
import { createInstallation, type Installation } from "./installation.ts";

const SETUP_SELECTOR = "app.kubernetes.io/instance=parley,app.kubernetes.io/component=trial-setup";
const ANSWER_TIMEOUT_MS = 120_000;
const RETRY_MS = 1_000;

describe("a trial on an empty cluster", () => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await createInstallation();
  });
  afterAll(async () => {
    await installation.remove();
  });

  it("answers a visitor within two minutes after the documented command starts", { timeout: 300_000 }, async () => {
    const startedAt = performance.now();
    await timed("trial, from the command to the first answer", async () => {
      await installation.runFirstBlock("trial.md");
      const command = await waitForCommand(startedAt);
      const reply = await withPortForward(() => run("bash", ["-c", command]));
      expect(reply).toContain("event: done");
      expect(reply).toContain("chat widget");
    });
    expect(performance.now() - startedAt).toBeLessThan(ANSWER_TIMEOUT_MS);
  });

  it("keeps its passwords and tokens during an upgrade", { timeout: 300_000 }, async () => {
    const secret = () => installation.kubectl("get", "secret", "parley-trial", "--output", "jsonpath={.data}");
    const before = await secret();
    await timed("trial, upgrade", () =>
      installation.helm("upgrade", "parley", "charts/parley", "--namespace", "parley", "--reuse-values", "--wait"),
    );
    expect(await secret()).toBe(before);
  });

  it("leaves nothing after helm uninstall", { timeout: 300_000 }, async () => {
    await timed("trial, uninstall", async () => {
      await installation.helm("uninstall", "parley", "--namespace", "parley", "--wait");
      await expect.poll(() => installation.listObjects(), { timeout: 120_000, interval: RETRY_MS }).toEqual([]);
    });
  });

  /** Waits until the setup pod prints the curl command that sends a question, and returns the command. */
  async function waitForCommand(startedAt: number): Promise<string> {
    while (performance.now() - startedAt < ANSWER_TIMEOUT_MS) {
      const output = await installation.kubectl("logs", "--tail=-1", "--selector", SETUP_SELECTOR).catch(() => "");
      const command = /^ {2}(curl [\s\S]*?[^\\])\n/m.exec(output)?.[1];
      if (command !== undefined) return command;
      await sleep(RETRY_MS);
    }
    throw new Error(`the setup printed no command:\n${await installation.kubectl("get", "pods")}`);
  }

  /** Forwards local port 8080 to the edge while `use` runs. */
  async function withPortForward<T>(use: () => Promise<T>): Promise<T> {
    const forward = ["--namespace", "parley", "port-forward", "service/parley", "8080:80"];
    const child = spawn("kubectl", forward, { stdio: ["ignore", "pipe", "inherit"] });
    try {
      await once(child.stdout, "data");
      return await use();
    } finally {
      const exited = once(child, "exit");
      child.kill();
      await exited;
    }
  }
});
