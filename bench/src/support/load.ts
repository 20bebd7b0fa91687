import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { nodeFlags } from "@parley/test-support";
import type { LoadPlan, LoadResult } from "../load/plan.ts";
import { cpuMs } from "./cpu.ts";
import type { Stage } from "./stage.ts";

export type Measured = LoadResult & {
  /** Milliseconds of CPU for one turn, of all measured processes together. */
  cpuMsPerTurn: number;
  /** The same, process by process. */
  cpuMsPerTurnOf: number[];
};

const generator = fileURLToPath(new URL("../load/generator.ts", import.meta.url));

export type Load = {
  /** Resolves once the warm-up is over. */
  warm: Promise<void>;
  /** Starts what counts, and resolves with what came of it. */
  go(): Promise<LoadResult>;
};

/** Starts a plan in a process of its own. */
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
    async go() {
      child.stdin.write("go\n");
      const result = JSON.parse((await lines.next()).value ?? "null") as LoadResult | null;
      await exited;
      if (result === null) throw new Error("the load generator said nothing");
      if (result.failed > 0) throw new Error(`${result.failed} of ${result.turns} turns failed`);
      return result;
    },
  };
}

/** Runs a plan and measures what it costs `pids`, after the warm-up. */
export async function measure(plan: LoadPlan, pids: readonly number[]): Promise<Measured> {
  const load = startLoad(plan);
  await load.warm;
  const before = pids.map(cpuMs);
  const result = await load.go();
  const cpuMsPerTurnOf = pids.map((pid, i) => (cpuMs(pid) - (before[i] ?? 0)) / result.turns);
  return { ...result, cpuMsPerTurnOf, cpuMsPerTurn: cpuMsPerTurnOf.reduce((sum, each) => sum + each, 0) };
}

export type Shape = { callers: number; turns: number; warmUp: number; rampMs?: number };

/** The same visitors' messages for Parley. */
export function parleyPlan({ system, tenant }: Stage, shape: Shape): LoadPlan {
  const { publicKey, origin } = tenant;
  return {
    url: `${system.url()}/api/chat/`,
    headers: { "content-type": "application/json", origin },
    body: JSON.stringify({ public_key: publicKey, session_id: "$uuid", message: "How do I return an order?" }),
    spreadAddresses: true,
    ...shape,
  };
}

/** And for the bare relay. */
export function relayPlan({ relayUrl }: Stage, model: string, shape: Shape): LoadPlan {
  return {
    url: relayUrl,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message: "How do I return an order?", model }),
    spreadAddresses: false,
    ...shape,
  };
}
