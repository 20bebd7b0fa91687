import { signVisitorToken } from "../../../tests/system/visitors.ts";
import { measurePairs } from "../support/alternate.ts";
import { measureLoad, parleyLoad } from "../support/load.ts";
import { median, medianInterval, sum } from "../support/statistics.ts";
import { startTestbed } from "../support/testbed.ts";
import { atMost, type Benchmark } from "./benchmark.ts";

const GOAL = 1.05;
const PAIRS = 24;
const SHAPE = { callers: 16, turns: 600, warmUpTurns: 100 };
/** Number of turns with tokens, and without, before the first pair, while the new processes compile their code. */
const INITIAL_TURNS = 3_000;

/** Compares turns of verified visitors with turns of anonymous ones. Each turn starts a session. */
export const visitorToken: Benchmark = {
  name: "visitor-token",
  description: "CPU of the four services for a turn with a visitor token ÷ without one, unpaced, 100 tokens",
  hintIfMissed: "the edge verifies each token anew",
  async run({ scale }, progress) {
    const testbed = await startTestbed("tokens-100");
    try {
      const { workspaceId } = testbed.tenant;
      const { secret } = await testbed.system.admin.identityKeys.createIdentityKey({ workspaceId });
      const withToken = { visitor_token: await signVisitorToken(secret, "customer-42") };
      const scaled = { ...SHAPE, turns: Math.ceil(SHAPE.turns * scale) };
      const initial = { ...scaled, turns: Math.ceil(INITIAL_TURNS * scale) };
      const measureCpu = async (fields: object, shape = scaled) =>
        sum((await measureLoad(parleyLoad(testbed, shape, fields), testbed.servicePids())).cpuMsPerTurnByProcess);
      await measureCpu(withToken, initial);
      await measureCpu({}, initial);
      const ratios = await measurePairs(
        Math.ceil(PAIRS * scale),
        { measured: () => measureCpu(withToken), basis: () => measureCpu({}) },
        progress,
      );
      const [low, high] = medianInterval(ratios);
      const detail = `${ratios.length} pairs; 95 % interval ${low.toFixed(3)} to ${high.toFixed(3)}`;
      return [atMost(GOAL, { what: "CPU with a token", value: median(ratios), unit: "×", detail })];
    } finally {
      await testbed.stop();
    }
  },
};
