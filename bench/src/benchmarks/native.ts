import { createTenant, type Tenant } from "../../../tests/system/system.ts";
import { measurePairs } from "../support/alternate.ts";
import { measureLoad, parleyLoad } from "../support/load.ts";
import { median, medianInterval } from "../support/statistics.ts";
import { BENCH_PLAN, startTestbed } from "../support/testbed.ts";
import { atMost, type Benchmark, type Figure } from "./benchmark.ts";

const MODEL = "tokens-100";
const PAIRS = 24;
const SHAPE = { callers: 16, turns: 300, warmUpTurns: 50 };
/** The turns of each kind before the first pair, while the process compiles its code. */
const INITIAL_TURNS = 1_500;
const MAX_RATIO = 1.5;
/** Kinds with an API of their own, with the path of the fake provider that has it. */
const KINDS = { anthropic: "/v1", google: "/v1", mistral: "/mistral/v1", bedrock: "/v1" };

/** Compares llm-proxy's CPU for a turn of a provider with an API of its own with that of the default path. */
export const native: Benchmark = {
  name: "native",
  description: "CPU of llm-proxy for a 100-token turn of a provider with an API of its own ÷ of one with OpenAI's",
  hintIfMissed: "the provider's package parses and validates each event with a schema",
  async run({ scale }, progress) {
    const testbed = await startTestbed(MODEL, { llmConfig: buildConfig });
    const llmProxy = testbed.system.llm.process().pid;
    const shape = { ...SHAPE, turns: Math.ceil(SHAPE.turns * scale) };
    const measure = async (tenant: Tenant, ofShape = shape) =>
      (await measureLoad(parleyLoad({ ...testbed, tenant }, ofShape), [llmProxy])).cpuMsPerTurn;
    try {
      const initialShape = { ...SHAPE, turns: Math.ceil(INITIAL_TURNS * scale) };
      await measure(testbed.tenant, initialShape);
      const figures: Figure[] = [];
      for (const kind of Object.keys(KINDS)) {
        const tenant = await createTenant(testbed.system.admin, { plan: BENCH_PLAN, model: `${kind}:${MODEL}` });
        await measure(tenant, initialShape);
        const ratios = await measurePairs(
          Math.ceil(PAIRS * scale),
          { measured: () => measure(tenant), basis: () => measure(testbed.tenant) },
          (line) => progress(`${kind}, ${line}`),
        );
        const [low, high] = medianInterval(ratios);
        const detail = `${ratios.length} pairs; 95 % interval ${low.toFixed(3)} to ${high.toFixed(3)}`;
        figures.push(atMost(MAX_RATIO, { what: `the kind ${kind}`, value: median(ratios), unit: "×", detail }));
      }
      return figures;
    } finally {
      await testbed.stop();
    }
  },
};

function buildConfig(baseUrl: string) {
  const native = Object.entries(KINDS).map(([kind, path]) => {
    const base_url = baseUrl.replace("/v1", path);
    return [kind, { kind, base_url, api_key_env: "OPENAI_API_KEY", max_output_tokens: 500 }];
  });
  return {
    default_model: `openai:${MODEL}`,
    providers: { openai: { base_url: baseUrl, api_key_env: "OPENAI_API_KEY" }, ...Object.fromEntries(native) },
  };
}
