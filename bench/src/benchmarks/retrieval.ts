import { startTestPostgres } from "@parley/test-support";
import { startSemanticSearchSystem } from "../../../tests/system/semantic-search.ts";
import { type System, startSystem } from "../../../tests/system/system.ts";
import { GOALS, measureRelevance, measureSearches, type Part, type RelevanceScores } from "../retrieval/measure.ts";
import { percentile } from "../support/statistics.ts";
import { atLeast, atMost, type Benchmark, type Figure } from "./benchmark.ts";

/** At scale 1, measureSearches uses this many copies of the relevance set's documents: about 10,000 chunks. */
const COPIES = 13;
/** Approximate. */
const CHUNKS_PER_COPY = 770;
const CHUNKS_FORMAT = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });

/** Names of the relevance set's parts, in the order of the printed scores. */
const PARTS: Record<Part, string> = {
  dev: "development half",
  holdout: "holdout half",
  all: "whole set",
};

export const retrieval: Benchmark = {
  name: "retrieval",
  description:
    "bench/relevance: hit rate@5, mean reciprocal rank, answers with a quotation and from the right document, and refusals of unanswerable questions, by text search and by hybrid search",
  hintIfMissed:
    "text search cannot find an answer that shares no word with the question: compare the printed scores with the earlier files in bench/results",
  async run({ rounds, scale }, progress) {
    const postgres = await startTestPostgres();
    let system: System | undefined;
    try {
      system = await startSystem({ databaseServerUrl: postgres.url });
      const measured = await measureRelevance(system);
      printScores("text", measured, progress);
      const hybrid = await measureHybrid(postgres.url, progress);
      const copies = Math.ceil(COPIES * scale);
      const times = await measureSearches(system, copies, rounds);
      const { hitRateAt5, meanReciprocalRank, answersWithQuotation, answersFromDocument, refused } = measured.all;
      return [
        figureOfShare("hit rate@5, text", GOALS.hitRateAt5, hitRateAt5, formatMrr(meanReciprocalRank)),
        figureOfShare(
          "hit rate@5, hybrid",
          GOALS.hitRateAt5,
          hybrid.all.hitRateAt5,
          `${formatMrr(hybrid.all.meanReciprocalRank)}; embeddings from hashes, which have no semantic quality`,
        ),
        figureOfShare("refusals, hybrid", GOALS.refused, hybrid.all.refused, "builtin:extractive"),
        figureOfShare(
          "answer contains a quotation",
          GOALS.answersWithQuotation,
          answersWithQuotation,
          "builtin:extractive",
        ),
        figureOfShare(
          "answer is from the document",
          GOALS.answersFromDocument,
          answersFromDocument,
          "builtin:extractive",
        ),
        figureOfShare("refusals", GOALS.refused, refused, "builtin:extractive"),
        atMost(GOALS.searchMs, {
          what: `search, ${CHUNKS_FORMAT.format(copies * CHUNKS_PER_COPY)} chunks, p99`,
          value: percentile(times, 99),
          unit: "ms",
          detail: `median ${percentile(times, 50).toFixed(1)} ms, ${times.length} searches`,
        }),
      ];
    } finally {
      await system?.stop();
      await postgres.stop();
    }
  },
};

/** The fake provider's embeddings are hashes of words and trigrams, so the scores say nothing about the semantic quality of a real model. */
async function measureHybrid(databaseServerUrl: string, progress: (line: string) => void): Promise<RelevanceScores> {
  const system = await startSemanticSearchSystem({ databaseServerUrl });
  try {
    const measured = await measureRelevance(system);
    progress("hybrid: with embeddings from hashes, which have no semantic quality");
    printScores("hybrid", measured, progress);
    return measured;
  } finally {
    await system.stop();
  }
}

function printScores(search: string, measured: RelevanceScores, progress: (line: string) => void): void {
  for (const [part, name] of Object.entries(PARTS) as [Part, string][]) {
    const { hitRateAt5, meanReciprocalRank, answersWithQuotation, answersFromDocument, refused, nearMissesRefused } =
      measured[part];
    progress(
      `${search}, ${name}: hit rate@5 ${hitRateAt5.toFixed(3)}, ${formatMrr(meanReciprocalRank)}, answer contains a quotation ${formatPercent(answersWithQuotation)}, answer is from the document ${formatPercent(answersFromDocument)}, refusals ${formatPercent(refused)}, refusals of unanswerable questions about subjects that the documents mention ${formatPercent(nearMissesRefused)}`,
    );
  }
}

function figureOfShare(what: string, goal: number, value: number, detail: string): Figure {
  return atLeast(goal, { what, value, unit: "", detail });
}

function formatMrr(value: number): string {
  return `MRR ${value.toFixed(3)}`;
}

function formatPercent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}
