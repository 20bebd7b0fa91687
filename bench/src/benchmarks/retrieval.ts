import { startTestPostgres } from "@parley/test-support";
import { startMeaningSystem } from "../../../tests/system/meaning.ts";
import { startSystem } from "../../../tests/system/system.ts";
import { GOALS, measureRelevance, measureSearches, type Part, type Relevance } from "../retrieval/measure.ts";
import { percentile } from "../support/statistics.ts";
import type { Benchmark, Figure } from "./benchmark.ts";

const COPIES_OF_10_000_CHUNKS = 13;

const PARTS: Record<Part, string> = {
  dev: "development half",
  held: "held-out half",
  all: "whole set",
};

/** Quality of search and of the built-in model's answers on the relevance set, and the latency of a search. */
export const retrieval: Benchmark = {
  name: "retrieval",
  about:
    "recall@5, mean reciprocal rank, quoted answers and refusals on bench/relevance, by word search and by hybrid search",
  limitation: "some questions share no word with their answers, and some words have another meaning in the documents",
  async run({ rounds, scale }, progress) {
    const postgres = await startTestPostgres();
    const system = await startSystem({ databaseServerUrl: postgres.url });
    try {
      const measured = await measureRelevance(system);
      printScores("text", measured, progress);
      const hybrid = await measureHybrid(postgres.url, progress);
      const times = await measureSearches(system, Math.ceil(COPIES_OF_10_000_CHUNKS * scale), rounds);
      const { recallAt5, meanReciprocalRank, answered, refused } = measured.all;
      return [
        figure("recall@5, text", recallAt5, GOALS.recallAt5, mrr(meanReciprocalRank)),
        figure(
          "recall@5, hybrid",
          hybrid.all.recallAt5,
          GOALS.recallAt5,
          `${mrr(hybrid.all.meanReciprocalRank)}; scripted embeddings, which have no semantic quality`,
        ),
        figure("honest refusals, hybrid", hybrid.all.refused, GOALS.refused, "builtin:extractive"),
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

/**
 * Asks the same questions with hybrid search. The scripted provider's embeddings are hashes of words and trigrams without semantic quality.
 * The figures only show that hybrid search works and does no harm, not what a real model would gain.
 */
async function measureHybrid(databaseServerUrl: string, progress: (line: string) => void): Promise<Relevance> {
  const system = await startMeaningSystem({ databaseServerUrl });
  try {
    const measured = await measureRelevance(system);
    progress("hybrid: with scripted embeddings, which have no semantic quality");
    printScores("hybrid", measured, progress);
    return measured;
  } finally {
    await system.stop();
  }
}

function printScores(search: string, measured: Relevance, progress: (line: string) => void): void {
  for (const part of ["dev", "held", "all"] as const) {
    const { recallAt5, meanReciprocalRank, answered, refused, nearMissesRefused } = measured[part];
    progress(
      `${search}, ${PARTS[part]}: recall@5 ${recallAt5.toFixed(3)}, ${mrr(meanReciprocalRank)}, answer holds the passage ${percent(answered)}, honest refusals ${percent(refused)}, near misses refused ${percent(nearMissesRefused)}`,
    );
  }
}

function mrr(value: number): string {
  return `MRR ${value.toFixed(3)}`;
}

function figure(what: string, value: number, goal: number, detail: string): Figure {
  return { what, value, unit: "", goal: `≥ ${goal}`, met: value >= goal, detail };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}
