import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { runCli } from "./cli.ts";
import { readConfig } from "./config.ts";
import { type Instance, writeInstance } from "./local/instance.ts";
import { ensureIssuer } from "./local/issuer.ts";

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "parley-cli-"));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

async function run(args: readonly string[], env: Record<string, string> = {}) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const config = readConfig({ DATA_DIR: dataDir, ...env }, process.cwd());
  const code = await runCli(args, config, { stdout, stderr });
  stdout.end();
  stderr.end();
  return { code, stdout: await text(stdout), stderr: await text(stderr) };
}

const INSTANCE: Instance = {
  pid: process.pid,
  edgeUrl: "http://localhost:1",
  edgeOpsUrl: "http://127.0.0.1:1",
  adminUrls: { conversation: "http://127.0.0.1:1", quota: "http://127.0.0.1:1", llm: "http://127.0.0.1:1" },
  adminToken: "token",
  internalToken: "token",
  issuerSettings: { issuer: "parley-development", audience: "parley", workspaceClaim: "workspace_id" },
};

describe("a usage error", () => {
  it.each([
    ["workspce", "parley: unknown command 'workspce' (Did you mean workspace?); run parley --help"],
    ["key crate", "parley: unknown command 'crate' (Did you mean create?); run parley key --help"],
    ["key create", "parley: required option '--workspace <id>' not specified; run parley key create --help"],
    ["usage --workspace w --month 2026-13", /^parley: option '--month .*2026-11.*; run parley usage --help$/],
    ["workspace create --name a --plan gold", /free, pro, scale; run parley workspace create --help$/],
    ["workspace set-plan w gold", /free, pro, scale; run parley workspace set-plan --help$/],
    ["token --workspace w --ttl 1y", /90s, 30m, 1h or 7d.*; run parley token --help$/],
    ["moderation remove x --workspace w --bot b", /whole number.*; run parley moderation remove --help$/],
    ["bot create --workspace w --slug s --css-var gap", /--gap=4px; run parley bot create --help$/],
    // Each line is split at every space. So a double space, or a space at the end, gives an empty argument, as "$NAME" does if the
    // shell variable is unset.
    [
      "bot update --workspace w --slug s --css-var --gap=4px --css-var ",
      /'--css-var <name=value>' .*An empty value must be the option's only value; run parley bot update --help$/,
    ],
    [
      "bot update --workspace w --slug s --css-var  --css-var --gap=4px",
      /'--css-var <name=value>' .*An empty value must be the option's only value; run parley bot update --help$/,
    ],
    [
      "bot update --workspace w --slug s --quick-reply Hi --quick-reply ",
      /'--quick-reply <text>' .*An empty value must be the option's only value; run parley bot update --help$/,
    ],
    [
      "bot update --workspace w --slug s --quick-reply  --quick-reply Hi",
      /'--quick-reply <text>' .*An empty value must be the option's only value; run parley bot update --help$/,
    ],
    [
      "tool add t --workspace w --bot b --url http://a --mcp http://b",
      /'--url <url>' cannot be used with option '--mcp <url>'/,
    ],
    [
      "tool add t --workspace w --bot b --mcp http://a --method POST",
      /'--mcp <url>' cannot be used with option '--method <method>'/,
    ],
    [
      "tool add t --workspace w --bot b --url http://a --only x",
      /'--url <url>' cannot be used with option '--only <tool>'/,
    ],
    ["usage-audit --repair --workspace ", /^parley: option '--workspace <id>' .*empty; run parley usage-audit --help$/],
    ["usage --all --sort name", /Allowed choices are id, cost, used, growth.*; run parley usage --help$/],
    ["usage --near-cap --all", /'--near-cap' cannot be used with option '--all'/],
    ["usage --all --sort growth --month 2026-10", /compares the last 14 days: omit --month$/],
    ["usage --workspace ", /^parley: option '--workspace <id>' .*empty; run parley usage --help$/],
    ["token --workspace ", /^parley: option '--workspace <id>' .*empty; run parley token --help$/],
    ["tool list --workspace w --bot ", /^parley: option '--bot <slug>' .*empty; run parley tool list --help$/],
    ["bot show --workspace w --slug ", /^parley: option '--slug <slug>' .*empty; run parley bot show --help$/],
    [
      "doctor http://a.example --origin http://b.example --public-key ",
      /^parley: option '--public-key <key>' .*empty; run parley doctor --help$/,
    ],
    ["migrate edge", /conversation, quota, llm-proxy; run parley migrate --help$/],
    ["workspace list extra", /^parley: too many arguments.*; run parley workspace list --help$/],
  ])("exits 2 with one line that names the problem and the help command: %s", async (line, expected) => {
    const { code, stdout, stderr } = await run(line.split(" "));
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr.trimEnd()).toEqual(typeof expected === "string" ? expected : expect.stringMatching(expected));
    expect(stderr.trimEnd()).not.toContain("\n");
  });

  it("prints the help when no command is given", async () => {
    const { code, stdout, stderr } = await run([]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("Usage: parley");
  });
});

describe("help", () => {
  it("is printed to stdout with exit code 0", async () => {
    const { code, stdout, stderr } = await run(["bot", "create", "--help"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("--primary-color <#RRGGBB>");
    expect(stdout).toContain("--json");
  });
});

describe("the version", () => {
  it("is the version of the package", async () => {
    expect(await run(["--version"])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: "" });
  });
});

describe("the installation on this machine", () => {
  const startHint = /: start it with npx --yes pnpm@12 start, or select another installation with DATA_DIR/;

  it("is reported as not running when DATA_DIR has no instance file", async () => {
    const { code, stdout, stderr } = await run(["workspace", "list", "--json"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(startHint);
  });

  it("is reported as not running when its process is gone", async () => {
    // No process has this PID: the maximum on Linux is 4,194,304.
    await writeInstance(dataDir, { ...INSTANCE, pid: 4_194_305 });
    expect((await run(["workspace", "list"])).stderr).toMatch(startHint);
  });

  it("is reported with a hint to retry and then check the log when a service is unreachable", async () => {
    await writeInstance(dataDir, INSTANCE);
    const { code, stderr } = await run(["workspace", "list"]);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `parley: quota does not answer at http://127.0.0.1:1: try again in a few seconds, then check ${dataDir}/logs/quota.log\n`,
    );
  });

  it.each([
    ["top", "--once"],
    ["workspace", "list"],
  ])("is not used when only a _REPLICAS_URL variable is set: parley %s", async (...args) => {
    await writeInstance(dataDir, INSTANCE);
    const { code, stdout, stderr } = await run(args, { PARLEY_LLM_REPLICAS_URL: "http://127.0.0.1:2" });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toBe("parley: PARLEY_LLM_REPLICAS_URL has no effect alone: set PARLEY_LLM_URL too\n");
  });

  it("is reported as damaged when the instance file is not JSON", async () => {
    await writeFile(join(dataDir, "instance.json"), "{");
    expect((await run(["workspace", "list"])).stderr).toMatch(/^parley: .*instance\.json is damaged: /);
  });
});

describe("parley token", () => {
  it("prints only the token, for use in a shell variable", async () => {
    await ensureIssuer(dataDir);
    await writeInstance(dataDir, INSTANCE);
    const { code, stdout } = await run(["token", "--workspace", "acme"]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^eyJ[\w-]+\.[\w-]+\.[\w-]+\n$/)]);
  });

  it.each([
    ["the installation is remote", { PARLEY_QUOTA_URL: "http://127.0.0.1:1", ADMIN_TOKEN: "t" }, INSTANCE],
    ["the installation accepts no development tokens", {}, { ...INSTANCE, issuerSettings: null }],
  ])("fails when %s", async (_, env, instance) => {
    await writeInstance(dataDir, instance);
    const { code, stderr } = await run(["token", "--workspace", "acme"], env);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^parley: this installation accepts no development tokens/);
  });
});

describe("parley migrate", () => {
  it("requires DATABASE_URL", async () => {
    expect(await run(["migrate"])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^parley: DATABASE_URL is not set/),
    });
  });
});
