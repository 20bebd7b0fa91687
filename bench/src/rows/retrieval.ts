import { startTestPostgres } from "@parley/testing";
import { startSystem } from "../../../tests/support/system.ts";
import { GOALS, measureRelevance, measureSearches, type Part } from "../retrieval/measure.ts";
import { percentile } from "../support/statistics.ts";
import type { Figure, Row } from "./row.ts";

const COPIES_OF_10_000_CHUNKS = 13;

const PARTS: Record<Part, string> = {
  dev: "half that may be looked at",
  held: "half only ever measured",
  all: "whole set",
};

/** How well a bot finds and quotes what answers a question, on the relevance set. */
export const retrieval: Row = {
  name: "retrieval",
  about: "recall@5, mean reciprocal rank, quoted answers and honest refusals on bench/relevance, by the text alone",
  async run({ rounds, scale }, progress) {
    const postgres = await startTestPostgres();
    const system = await startSystem({ databaseServerUrl: postgres.url });
    try {
      const measured = await measureRelevance(system);
      for (const part of ["dev", "held", "all"] as const) {
        const { recallAt5, meanReciprocalRank, answered, refused, nearMissesRefused } = measured[part];
        progress(
          `${PARTS[part]}: recall@5 ${recallAt5.toFixed(3)}, MRR ${meanReciprocalRank.toFixed(3)}, answer holds the passage ${percent(answered)}, honest refusals ${percent(refused)}, near misses refused ${percent(nearMissesRefused)}`,
        );
      }
      const times = await measureSearches(system, Math.ceil(COPIES_OF_10_000_CHUNKS * scale), rounds);
      const { recallAt5, meanReciprocalRank, answered, refused } = measured.all;
      const detail = `MRR ${meanReciprocalRank.toFixed(3)}`;
      return [
        figure("recall@5, text", recallAt5, GOALS.recallAt5, detail),
        figure("answer holds the passage", answered, GOALS.answered, "builtin:extractive"),
        figure("honest refusals", refused, GOALS.refused, "builtin:extractive"),
        {
          what: "search, 10,000 chunks, p99",
          value: percentile(times, 99),
          unit: "ms",
          goal: `≤ ${GOALS.searchMs}`,
          met: percentile(times, 99) <= GOALS.searchMs,
          detail: `median ${percentile(times, 50).toFixed(1)} ms, ${times.length} searches`,
        },
      ];
    } finally {
      await system.stop();
      await postgres.stop();
    }
  },
};

function figure(what: string, value: number, goal: number, detail: string): Figure {
  return { what, value, unit: "", goal: `≥ ${goal}`, met: value >= goal, detail };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}
