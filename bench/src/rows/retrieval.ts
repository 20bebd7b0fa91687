import { startTestPostgres } from "@parley/test-support";
import { startSemanticSearchSystem } from "../../../tests/system/semantic-search.ts";
import { startSystem } from "../../../tests/system/system.ts";
import { GOALS, type Measured, measureRelevance, measureSearches, type Part } from "../retrieval/measure.ts";
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
  about:
    "recall@5, mean reciprocal rank, quoted answers and honest refusals on bench/relevance, by words alone and by meaning too",
  inTheWay: "questions that share no word with what answers them, and words that mean another thing there",
  async run({ rounds, scale }, progress) {
    const postgres = await startTestPostgres();
    const system = await startSystem({ databaseServerUrl: postgres.url });
    try {
      const measured = await measureRelevance(system);
      tell("text", measured, progress);
      const hybrid = await measureHybrid(postgres.url, progress);
      const times = await measureSearches(system, Math.ceil(COPIES_OF_10_000_CHUNKS * scale), rounds);
      const { recallAt5, meanReciprocalRank, answered, refused } = measured.all;
      return [
        figure("recall@5, text", recallAt5, GOALS.recallAt5, mrr(meanReciprocalRank)),
        figure(
          "recall@5, hybrid",
          hybrid.all.recallAt5,
          GOALS.recallAt5,
          `${mrr(hybrid.all.meanReciprocalRank)}; scripted embeddings: the path, not its quality`,
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
 * The same questions by words and meaning. The scripted provider's embeddings are hashes of words and letter triples, and know no meaning of
 * these documents: the figures say that the path works and does no harm, and nothing of what a real model would add.
 */
async function measureHybrid(databaseServerUrl: string, progress: (line: string) => void): Promise<Measured> {
  const system = await startSemanticSearchSystem({ databaseServerUrl });
  try {
    const measured = await measureRelevance(system);
    progress("hybrid: with scripted embeddings, which prove the path and not the quality");
    tell("hybrid", measured, progress);
    return measured;
  } finally {
    await system.stop();
  }
}

function tell(way: string, measured: Measured, progress: (line: string) => void): void {
  for (const part of ["dev", "held", "all"] as const) {
    const { recallAt5, meanReciprocalRank, answered, refused, nearMissesRefused } = measured[part];
    progress(
      `${way}, ${PARTS[part]}: recall@5 ${recallAt5.toFixed(3)}, ${mrr(meanReciprocalRank)}, answer holds the passage ${percent(answered)}, honest refusals ${percent(refused)}, near misses refused ${percent(nearMissesRefused)}`,
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
