import { median } from "../support/statistics.ts";
import { startTestbed } from "../support/testbed.ts";
import { atMost, type Benchmark } from "./benchmark.ts";

const GOAL_MS = 1_000;

export const start: Benchmark = {
  name: "start",
  description: "time from each service's start until it is ready; the services start one at a time",
  hintIfMissed: "Node spends most of this time on loading modules",
  async run({ rounds }, progress) {
    // This benchmark sends no chats, so the model is not used.
    const testbed = await startTestbed("tokens-100");
    const { quota, llm, conversation, edges } = testbed.system;
    const services = [quota, llm, conversation, ...edges];
    const times = new Map<string, number[]>();
    try {
      for (let round = 1; round <= rounds; round++) {
        for (const service of services) {
          await service.stop();
          const started = performance.now();
          await service.start();
          times.set(service.name, [...(times.get(service.name) ?? []), performance.now() - started]);
        }
        progress(
          `round ${round}: ${[...times].map(([name, all]) => `${name} ${all.at(-1)?.toFixed(0)} ms`).join(", ")}`,
        );
      }
    } finally {
      await testbed.stop();
    }
    return [...times].map(([what, all]) => atMost(GOAL_MS, { what, value: median(all), unit: "ms", detail: "" }));
  },
};
