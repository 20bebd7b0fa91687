import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { nodeFlags } from "@parley/test-support";
import type { LoadOptions, LoadResult } from "../load/chat-load-options.ts";
import { cpuMs } from "./cpu.ts";
import { sum } from "./statistics.ts";
import type { Testbed } from "./testbed.ts";

export type LoadMeasurement = LoadResult & {
  /** CPU time per turn, summed over all measured processes. */
  cpuMsPerTurn: number;
  cpuMsPerTurnByProcess: number[];
};

const generatorPath = fileURLToPath(new URL("../load/chat-load-generator.ts", import.meta.url));

export type Load = {
  /** Fulfilled when the generator has started and its warm-up turns have ended. */
  ready: Promise<void>;
  /** Runs the measured turns. Throws if a turn fails. */
  run(): Promise<LoadResult>;
};

/** Starts a load generator in a process of its own. The generator begins with the warm-up turns. */
export function startLoad(options: LoadOptions): Load {
  const child = spawn(process.execPath, [...nodeFlags, generatorPath, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const exited = once(child, "exit");
  const ready = lines.next().then(({ value }) => {
    if (value !== "warm") throw new Error("the load generator did not warm up");
  });
  return {
    ready,
    async run() {
      child.stdin.write("go\n");
      const result = JSON.parse((await lines.next()).value ?? "null") as LoadResult | null;
      await exited;
      if (result === null) throw new Error("the load generator printed no result");
      if (result.failed > 0) throw new Error(`${result.failed} of ${result.turns} turns failed`);
      return result;
    },
  };
}

/** Runs a load, and measures the CPU time that the processes `pids` use after the warm-up. */
export async function measureLoad(options: LoadOptions, pids: readonly number[]): Promise<LoadMeasurement> {
  const load = startLoad(options);
  await load.ready;
  const before = pids.map(cpuMs);
  const result = await load.run();
  const cpuMsPerTurnByProcess = pids.map((pid, i) => (cpuMs(pid) - (before[i] ?? 0)) / result.turns);
  return { ...result, cpuMsPerTurnByProcess, cpuMsPerTurn: sum(cpuMsPerTurnByProcess) };
}

export type LoadShape = { callers: number; turns: number; warmUpTurns: number; rampMs?: number };

/** @param fields further fields of the body */
export function parleyLoad({ system, tenant }: Testbed, shape: LoadShape, fields: object = {}): LoadOptions {
  const { publicKey, origin } = tenant;
  const message = "How do I return an order?";
  return {
    url: `${system.url()}/api/chat/`,
    headers: { "content-type": "application/json", origin },
    body: JSON.stringify({ public_key: publicKey, session_id: "$uuid", message, ...fields }),
    usesNewClientAddressPerRequest: true,
    ...shape,
  };
}

/** Like parleyLoad, but for the bare relay, a minimal service with which Parley is compared. */
export function relayLoad({ relayUrl }: Testbed, model: string, shape: LoadShape): LoadOptions {
  return {
    url: relayUrl,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message: "How do I return an order?", model }),
    usesNewClientAddressPerRequest: false,
    ...shape,
  };
}
