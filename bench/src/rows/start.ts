import { setStage } from "../support/stage.ts";
import { median } from "../support/statistics.ts";
import type { Row } from "./row.ts";

const GOAL_MS = 1_000;

/** How long a service takes from its start to its first "ready". */
export const start: Row = {
  name: "start",
  about: "cold start of each service to ready, one after the other",
  inTheWay: "modules to be read: most of a start is Node loading them",
  async run({ rounds }, progress) {
    const stage = await setStage("tokens-100");
    const { quota, llm, conversation, edges } = stage.system;
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
      await stage.stop();
    }
    return [...times].map(([name, all]) => {
      const value = median(all);
      return { what: name, value, unit: "ms", goal: `≤ ${GOAL_MS} ms`, met: value <= GOAL_MS, detail: "" };
    });
  },
};
