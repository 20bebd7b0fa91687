import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCli } from "../cli.ts";
import { readConfig } from "../config.ts";
import { SHELLS, type Shell } from "./scripts.ts";

async function run(...args: string[]): Promise<string> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const code = await runCli(args, readConfig({}, process.cwd()), { stdout, stderr });
  stdout.end();
  stderr.end();
  expect([code, await text(stderr)]).toEqual([0, ""]);
  return text(stdout);
}

/** What a command's help lists. */
type Help = { path: string; words: string[] };

/** Reads the help of a command and of its subcommands. */
async function readHelp(path: readonly string[] = []): Promise<Help[]> {
  const help = await run(...path, "--help");
  const [, commands = ""] = /^Commands:\n((?: {2}.*\n)*)/m.exec(help) ?? [];
  const names = [...commands.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = ""]) => name);
  const flags = [...help.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag = ""]) => flag);
  const nested = [];
  for (const name of names.filter((each) => each !== "help")) nested.push(...(await readHelp([...path, name])));
  return [{ path: path.join(" "), words: [...names, ...flags] }, ...nested];
}

let help: Help[];
let scripts: Record<Shell, string>;
/** An empty folder: for a free value, the shells complete the names of files. */
const folder = mkdtempSync(join(tmpdir(), "parley-completion-"));
afterAll(() => rmSync(folder, { recursive: true }));
beforeAll(async () => {
  help = await readHelp();
  scripts = {
    bash: await run("completion", "bash"),
    zsh: await run("completion", "zsh"),
    fish: await run("completion", "fish"),
  };
});

test.each(["bash", "zsh"] as const)("the script for %s has every command and option of the help", (shell) => {
  expect(help.length).toBeGreaterThan(50);
  for (const { path, words } of help) {
    const [, values = ""] = new RegExp(`^ +'${path}'\\) values='(.*)' ;;$`, "m").exec(scripts[shell]) ?? [];
    expect(values.split(" "), path).toEqual(expect.arrayContaining(words));
  }
});

test("the script for fish has every command and option of the help", () => {
  for (const { path, words } of help) {
    const start = `complete -c parley -n '__parley_at \\'${path}\\'' `;
    const lines = scripts.fish.split("\n").filter((line) => line.startsWith(start));
    const completed = lines.map((line) => /^-(?:l ([a-z-]+)|a '([^']+)')/.exec(line.slice(start.length)));
    const found = completed.map((match) => (match?.[1] === undefined ? match?.[2] : `--${match[1]}`));
    expect(found, path).toEqual(expect.arrayContaining(words));
  }
});

const isInstalled = (shell: Shell) => spawnSync(shell, ["-c", "exit 0"]).status === 0;

/** Completes the last word of a command line in a shell. */
function complete(shell: Shell, ...line: string[]): string[] {
  const words = ["parley", ...line];
  const code: Record<Shell, string> = {
    bash: `${scripts.bash}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _parley; printf '%s\\n' "\${COMPREPLY[@]}"`,
    zsh: `compdef() { :; }; compadd() { shift; print -l -- "$@"; }; _files() { :; }\n${scripts.zsh}\nwords=("$@"); CURRENT=$#; _parley`,
    fish: `${scripts.fish}\ncomplete -C (string join ' ' -- $argv)`,
  };
  const args = shell === "fish" ? ["-c", code.fish, ...words] : ["-c", code[shell], shell, ...words];
  const output = execFileSync(shell, args, {
    encoding: "utf8",
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder },
  });
  const values = output.split("\n").map((each) => each.split("\t")[0] ?? "");
  // zsh filters by the word's beginning itself, after compadd.
  return values.filter((each) => each !== "" && each.startsWith(words.at(-1) ?? ""));
}

describe.each(SHELLS.map((shell) => ({ shell })))("in $shell", ({ shell }) => {
  test.skipIf(!isInstalled(shell))("completes commands, options and the values of options and arguments", () => {
    expect(complete(shell, "mod")).toEqual(["moderation"]);
    expect(complete(shell, "usage", "--so")).toEqual(["--sort"]);
    expect(complete(shell, "usage", "adjust", "--re").sort()).toEqual(["--reason", "--request-id"]);
    expect(complete(shell, "usage", "--all", "--sort", "").sort()).toEqual(["cost", "growth", "id", "used"]);
    expect(complete(shell, "--json", "completion", "b")).toEqual(["bash"]);
    expect(complete(shell, "key", "create", "--bot", "")).toEqual([]);
  });
});
