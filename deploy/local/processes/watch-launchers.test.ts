import { describe, expect, it } from "vitest";
import { areAllRunning, findLaunchChain, type ProcessEntry } from "./watch-launchers.ts";

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

describe("findLaunchChain", () => {
  it("finds the process and its ancestors up to npx", async () => {
    expect(pidsOf(await findLaunchChain(24, reader([SHELL, ...NPX, ...PNPM])))).toEqual([24, 23, 22, 21, 20]);
  });

  it("finds the process and its ancestors up to pnpm when the user runs pnpm without npx", async () => {
    const [pnpm, ...below] = PNPM;
    const direct = [SHELL, { ...pnpm, pid: 22, parentPid: 10, command: "pnpm start" }, ...below];
    expect(pidsOf(await findLaunchChain(24, reader(direct)))).toEqual([24, 23, 22]);
  });

  it.each(["node /usr/lib/node_modules/pnpm/bin/pnpm.cjs start", "/opt/pnpm start"])(
    "recognises the command %s as pnpm",
    async (command) => {
      const [, ...below] = PNPM;
      expect(await findLaunchChain(24, reader([{ pid: 22, parentPid: 1, command }, ...below]))).toHaveLength(3);
    },
  );

  it("does not mistake a tool in node_modules/.pnpm for pnpm", async () => {
    const [, ...below] = PNPM;
    const tool = { pid: 22, parentPid: 1, command: "node /app/node_modules/.pnpm/tool/tool.mjs" };
    expect(await findLaunchChain(24, reader([tool, ...below]))).toEqual([]);
  });

  it("returns an empty chain if there is no package manager or no process information", async () => {
    expect(await findLaunchChain(24, reader([SHELL, { pid: 24, parentPid: 10, command: "node launch.js" }]))).toEqual(
      [],
    );
    expect(await findLaunchChain(24, reader([]))).toEqual([]);
  });
});

describe("areAllRunning", () => {
  const chain = [...NPX, ...PNPM].toReversed();

  it("returns true while every process of the chain runs, even when the user's shell is gone", async () => {
    const [npx, ...below] = NPX;
    const orphaned = [{ ...npx, pid: 20, parentPid: 1, command: "npm exec pnpm@12 start" }, ...below, ...PNPM];
    expect(await areAllRunning(chain, reader(orphaned))).toBe(true);
  });

  it("returns false when npx is gone and pnpm has another parent", async () => {
    const [pnpm, ...below] = PNPM;
    const adopted = [{ ...pnpm, pid: 22, parentPid: 1, command: "pnpm start" }, ...below];
    expect(await areAllRunning(chain, reader(adopted))).toBe(false);
  });

  it("returns true for an empty chain", async () => {
    expect(await areAllRunning([], reader([]))).toBe(true);
  });
});
