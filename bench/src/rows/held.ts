import { setInterval as every } from "node:timers/promises";
import { createTenant } from "../../../tests/system/system.ts";
import { residentBytes } from "../support/cpu.ts";
import { parleyPlan, startLoad } from "../support/load.ts";
import { type Stage, setStage } from "../support/stage.ts";
import { median } from "../support/statistics.ts";
import type { Row } from "./row.ts";

const TOKENS = 60;
const STREAMS = 5_000;
const GOAL_KB = 40;

/** What it takes to hold many visitors who read slowly arriving answers. */
export const held: Row = {
  name: "held",
  about: `${STREAMS} streams at once, a token a second each, by one edge and one llm-proxy`,
  inTheWay:
    "what Node keeps for a connection, its request and its response, about half of it, and garbage that nothing asks to be collected",
  async run({ rounds, scale }, progress) {
    const streams = Math.ceil(STREAMS * scale);
    const tokens = Math.max(5, Math.ceil(TOKENS * scale));
    const kilobytes: number[] = [];
    let lost = 0;
    for (let round = 1; round <= rounds; round++) {
      const one = await holdOnce(streams, tokens);
      kilobytes.push(one.kilobytesPerStream);
      lost += one.lost;
      progress(`round ${round}: ${one.lost} tokens lost, ${one.kilobytesPerStream.toFixed(1)} KB a stream`);
    }
    const value = median(kilobytes);
    const detail = `${streams} streams of ${tokens} tokens; resident memory at its highest, less what it was with none`;
    return [
      { what: "tokens lost", value: lost, unit: "", goal: "0", met: lost === 0, detail },
      {
        what: "memory a stream in the edge",
        value,
        unit: "KB",
        goal: `≤ ${GOAL_KB} KB`,
        met: value <= GOAL_KB,
        detail,
      },
    ];
  },
};

/** On processes of its own each time: what a process has taken once stays with it. */
async function holdOnce(streams: number, tokens: number): Promise<{ lost: number; kilobytesPerStream: number }> {
  const stage = await setStage(`tokens-${tokens}-every-1000`, {
    env: { edge: { MAX_STREAMS: String(streams * 2) } },
    llmConfig: (providerUrl) => ({
      providers: {
        openai: {
          base_url: providerUrl,
          api_key_env: "OPENAI_API_KEY",
          concurrency: { max_active: streams * 2, max_queued: streams },
        },
      },
    }),
  });
  try {
    const shape = { callers: streams, turns: streams, warmUp: 0, rampMs: streams * 4 };
    const [edge = 0] = stage.servicePids();
    await warmUp(stage);
    const load = startLoad(parleyPlan(stage, shape));
    await load.warm;
    const before = residentBytes(edge);
    let peak = before;
    const watching = new AbortController();
    const watch = (async () => {
      for await (const _ of every(250, undefined, { signal: watching.signal }))
        peak = Math.max(peak, residentBytes(edge));
    })().catch((error: unknown) => {
      if (!watching.signal.aborted) throw error;
    });
    const result = await load.go();
    watching.abort();
    await watch;
    return { lost: streams * tokens - result.tokens, kilobytesPerStream: (peak - before) / 1024 / streams };
  } finally {
    await stage.stop();
  }
}

/** So that what is compiled and cached once is not counted for the streams. */
async function warmUp(stage: Stage): Promise<void> {
  const tenant = await createTenant(stage.system.admin, { model: "openai:tokens-100" });
  const load = startLoad(parleyPlan({ ...stage, tenant }, { callers: 16, turns: 400, warmUp: 0 }));
  await load.warm;
  await load.go();
}
