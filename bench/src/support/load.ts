import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { nodeFlags } from "@parley/test-support";
import type { LoadPlan, LoadResult } from "../load/plan.ts";
import { cpuMs } from "./cpu.ts";
import { sum } from "./statistics.ts";
import type { Testbed } from "./testbed.ts";

export type Measured = LoadResult & {
  /** CPU time per turn of all measured processes. */
  cpuMsPerTurn: number;
  /** CPU time per turn of each process. */
  cpuMsPerTurnOf: number[];
};

const generator = fileURLToPath(new URL("../load/generator.ts", import.meta.url));

export type Load = {
  /** Resolves when the warm-up is over. */
  warm: Promise<void>;
  /** Runs the measured turns. Throws if one fails. */
  run(): Promise<LoadResult>;
};

/** Starts a load generator in a process of its own. */
export function startLoad(plan: LoadPlan): Load {
  const child = spawn(process.execPath, [...nodeFlags, generator, JSON.stringify(plan)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const exited = once(child, "exit");
  const warm = lines.next().then(({ value }) => {
    if (value !== "warm") throw new Error("the load generator did not warm up");
  });
  return {
    warm,
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

/** Runs a plan and measures the CPU time of processes after the warm-up. */
export async function measure(plan: LoadPlan, pids: readonly number[]): Promise<Measured> {
  const load = startLoad(plan);
  await load.warm;
  const before = pids.map(cpuMs);
  const result = await load.run();
  const cpuMsPerTurnOf = pids.map((pid, i) => (cpuMs(pid) - (before[i] ?? 0)) / result.turns);
  return { ...result, cpuMsPerTurnOf, cpuMsPerTurn: sum(cpuMsPerTurnOf) };
}

export type Shape = { callers: number; turns: number; warmUp: number; rampMs?: number };

/** Returns a plan that sends visitors' messages to Parley. */
export function parleyPlan({ system, tenant }: Testbed, shape: Shape): LoadPlan {
  const { publicKey, origin } = tenant;
  return {
    url: `${system.url()}/api/chat/`,
    headers: { "content-type": "application/json", origin },
    body: JSON.stringify({ public_key: publicKey, session_id: "$uuid", message: "How do I return an order?" }),
    spreadAddresses: true,
    ...shape,
  };
}

/** Returns a plan that sends the same messages to the bare relay. */
export function relayPlan({ relayUrl }: Testbed, model: string, shape: Shape): LoadPlan {
  return {
    url: relayUrl,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message: "How do I return an order?", model }),
    spreadAddresses: false,
    ...shape,
  };
}
