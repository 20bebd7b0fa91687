import { createTenant } from "../../../tests/system/system.ts";
import { measurePeak, residentBytes } from "../support/cpu.ts";
import { parleyLoad, startLoad } from "../support/load.ts";
import { median } from "../support/statistics.ts";
import { startTestbed, type Testbed } from "../support/testbed.ts";
import { atMost, type Benchmark } from "./benchmark.ts";

/** Tokens per stream, one a second. */
const TOKENS = 60;
const STREAMS = 5_000;
const GOAL_KB = 40;
const SAMPLE_INTERVAL_MS = 250;

export const concurrentStreams: Benchmark = {
  // bench/results and the documents use this name.
  name: "held",
  description: `${STREAMS} concurrent streams, each with one token per second, on one edge and one llm-proxy`,
  hintIfMissed:
    "Node uses about half of the memory for the connection, request and response; the rest includes uncollected garbage",
  async run({ rounds, scale }, progress) {
    const streams = Math.ceil(STREAMS * scale);
    const tokens = Math.max(5, Math.ceil(TOKENS * scale));
    const kilobytes: number[] = [];
    let lost = 0;
    for (let round = 1; round <= rounds; round++) {
      const result = await runRound(streams, tokens);
      kilobytes.push(result.kilobytesPerStream);
      lost += result.lost;
      progress(`round ${round}: ${result.lost} tokens lost, ${result.kilobytesPerStream.toFixed(1)} KB per stream`);
    }
    const value = median(kilobytes);
    const detail = `${streams} streams of ${tokens} tokens; peak resident memory minus resident memory without streams`;
    return [
      atMost(0, { what: "tokens lost", value: lost, unit: "", detail }),
      atMost(GOAL_KB, { what: "memory per stream in the edge", value, unit: "KB", detail }),
    ];
  },
};

/** Starts new processes for each round, because a process keeps the memory of an earlier round. */
async function runRound(streams: number, tokens: number): Promise<{ lost: number; kilobytesPerStream: number }> {
  const testbed = await startTestbed(`tokens-${tokens}-every-1000`, {
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
    const shape = { callers: streams, turns: streams, warmUpTurns: 0, rampMs: streams * 4 };
    const [edgePid = 0] = testbed.servicePids();
    await warmUp(testbed);
    const load = startLoad(parleyLoad(testbed, shape));
    await load.ready;
    const before = residentBytes(edgePid);
    const { result, peak } = await measurePeak(
      () => residentBytes(edgePid),
      SAMPLE_INTERVAL_MS,
      () => load.run(),
    );
    return { lost: streams * tokens - result.tokens, kilobytesPerStream: (peak - before) / 1024 / streams };
  } finally {
    await testbed.stop();
  }
}

/** Runs some turns, so that compiled code and caches do not count as memory of the streams. */
async function warmUp(testbed: Testbed): Promise<void> {
  const tenant = await createTenant(testbed.system.admin, { model: "openai:tokens-100" });
  const load = startLoad(parleyLoad({ ...testbed, tenant }, { callers: 16, turns: 400, warmUpTurns: 0 }));
  await load.ready;
  await load.run();
}
