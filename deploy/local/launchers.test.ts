import { describe, expect, it } from "vitest";
import { areThere, findLaunchers, type ProcessEntry } from "./launchers.ts";

const SHELL = { pid: 10, parentPid: 1, command: "bash" };
const NPX = [
  { pid: 20, parentPid: 10, command: "npm exec pnpm@12 start" },
  { pid: 21, parentPid: 20, command: "sh -c 'pnpm' start" },
];
const PNPM = [
  { pid: 22, parentPid: 21, command: "pnpm start" },
  { pid: 23, parentPid: 22, command: "sh -c node deploy/local/launch.js" },
  { pid: 24, parentPid: 23, command: "node deploy/local/launch.js" },
];

const reader = (entries: readonly ProcessEntry[]) => async (pid: number) => entries.find((entry) => entry.pid === pid);
const pidsOf = (entries: readonly ProcessEntry[]) => entries.map(({ pid }) => pid);

describe("findLaunchers", () => {
  it("goes up to npx and no further", async () => {
    expect(pidsOf(await findLaunchers(24, reader([SHELL, ...NPX, ...PNPM])))).toEqual([24, 23, 22, 21, 20]);
  });

  it("goes up to pnpm when a person runs that", async () => {
    const [pnpm, ...below] = PNPM;
    const typed = [SHELL, { ...pnpm, pid: 22, parentPid: 10, command: "pnpm start" }, ...below];
    expect(pidsOf(await findLaunchers(24, reader(typed)))).toEqual([24, 23, 22]);
  });

  it.each(["node /usr/lib/node_modules/pnpm/bin/pnpm.cjs start", "/opt/pnpm start"])(
    "knows pnpm as %s",
    async (command) => {
      const [, ...below] = PNPM;
      expect(await findLaunchers(24, reader([{ pid: 22, parentPid: 1, command }, ...below]))).toHaveLength(3);
    },
  );

  it("does not take a tool below .pnpm for pnpm", async () => {
    const [, ...below] = PNPM;
    const tool = { pid: 22, parentPid: 1, command: "node /app/node_modules/.pnpm/tool/tool.mjs" };
    expect(await findLaunchers(24, reader([tool, ...below]))).toEqual([]);
  });

  it("finds none when no package manager is above, or the system does not tell", async () => {
    expect(await findLaunchers(24, reader([SHELL, { pid: 24, parentPid: 10, command: "node launch.js" }]))).toEqual([]);
    expect(await findLaunchers(24, reader([]))).toEqual([]);
  });
});

describe("areThere", () => {
  const launchers = [...NPX, ...PNPM].toReversed();

  it("holds while nothing changes, whatever becomes of the shell above", async () => {
    const [npx, ...below] = NPX;
    const orphaned = [{ ...npx, pid: 20, parentPid: 1, command: "npm exec pnpm@12 start" }, ...below, ...PNPM];
    expect(await areThere(launchers, reader(orphaned))).toBe(true);
  });

  it("notices that npx is gone, though pnpm goes on under another parent", async () => {
    const [pnpm, ...below] = PNPM;
    const adopted = [{ ...pnpm, pid: 22, parentPid: 1, command: "pnpm start" }, ...below];
    expect(await areThere(launchers, reader(adopted))).toBe(false);
  });

  it("has nothing to miss without launchers", async () => {
    expect(await areThere([], reader([]))).toBe(true);
  });
});
