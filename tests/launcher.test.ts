import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "./system/processes.ts";

let workDir: string;
beforeAll(async () => {
  workDir = await realpath(await mkdtemp(join(tmpdir(), "parley-launcher-")));
});
afterAll(() => rm(workDir, { recursive: true }));

type Exit = { code: number; stdout: string; stderr: string };

/** Runs a launcher from outside the clone, with only PATH and `extraEnv` in its environment. */
async function launch(launcher: string, args: readonly string[], extraEnv: Record<string, string> = {}): Promise<Exit> {
  const env = { PATH: process.env.PATH, ...extraEnv };
  try {
    const { stdout, stderr } = await promisify(execFile)(launcher, args, { cwd: workDir, env });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as Exit;
    return { code, stdout, stderr };
  }
}

/** Creates a directory like a clone of the repository, with only the launcher and these directories. Returns its path. */
async function makeClone(...directories: string[]): Promise<string> {
  const clone = await mkdtemp(join(workDir, "clone-"));
  for (const directory of directories) await mkdir(join(clone, directory), { recursive: true });
  await copyFile(join(root, "parley"), join(clone, "parley"));
  return clone;
}

describe("./parley", () => {
  it("prints only the command's output when run through a symbolic link", async () => {
    const link = join(workDir, "parley");
    await symlink(join(root, "parley"), link);
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
    expect(await launch(link, ["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  });

  it("resolves file arguments in the caller's directory, and DATA_DIR in the clone", async () => {
    const add = ["knowledge", "add", "missing.md", "--workspace", "w", "--bot", "b"];
    expect(await launch(join(root, "parley"), add)).toEqual({
      code: 1,
      stdout: "Added 0 of 1 document. Failed: 1.\n",
      stderr: `[1/1] missing.md …\nparley: ${join(workDir, "missing.md")} does not exist: check the path\n`,
    });
    const token = ["token", "--workspace", "w"];
    const { code, stderr } = await launch(join(root, "parley"), token, { DATA_DIR: "no-data" });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`not running in ${join(root, "no-data")}:`)]);
  });

  it("reports missing dependencies and the command that installs them", async () => {
    const clone = await makeClone("packages/cli");
    expect(await launch(join(clone, "parley"), ["--version"])).toEqual({
      code: 1,
      stdout: "",
      stderr: `parley: nothing is installed in ${clone}: run npx --yes pnpm@12 install there first\n`,
    });
  });

  it.each([
    ["refuses", "v20.20.2", 1],
    ["refuses", "v22.14.0", 1],
    ["uses", "v22.15.0", 0],
    ["uses", "v23.0.0", 0],
    ["uses", "v24.0.0", 0],
  ])("%s Node.js %s from the PATH", async (_, version, expectedCode) => {
    // Without the second flag, Node.js 23.0 to 23.3 have no node:sqlite, which the CLI imports.
    const flags = "--experimental-strip-types --experimental-sqlite --disable-warning=ExperimentalWarning";
    const clone = await makeClone("packages/cli/node_modules", "bin");
    const script = `#!/bin/sh\n[ "$1" = --version ] && echo ${version} || echo "$*"\n`;
    await writeFile(join(clone, "bin/node"), script, { mode: 0o755 });
    const { code, stdout, stderr } = await launch(join(clone, "parley"), ["usage"], {
      PATH: `${clone}/bin:/usr/bin:/bin`,
    });
    expect([code, stdout, stderr]).toEqual(
      expectedCode === 0
        ? [0, `${flags} packages/cli/src/main.ts usage\n`, ""]
        : [1, "", "parley: needs Node.js 22.15 or newer on the PATH: install it\n"],
    );
  });

  it("reports that Node.js is needed if the PATH has none", async () => {
    const clone = await makeClone("packages/cli/node_modules", "bin");
    for (const command of ["dirname", "readlink"]) await symlink(`/usr/bin/${command}`, join(clone, "bin", command));
    const { code, stderr } = await launch(join(clone, "parley"), ["usage"], { PATH: join(clone, "bin") });
    expect([code, stderr]).toEqual([1, "parley: needs Node.js 22.15 or newer on the PATH: install it\n"]);
  });
});
