import { startTestPostgres } from "@parley/test-support";
import { startSystem } from "../../../tests/system/system.ts";
import { TRUST_FORWARDED_FOR } from "../../../tests/system/visitors.ts";
import { type Answered, countVerdicts, GOALS, measureAnswers } from "../answers/measure.ts";
import { atLeast, atMost, type Benchmark } from "./benchmark.ts";

export const answers: Benchmark = {
  name: "answers",
  description:
    "bench/answers: replies of the built-in model to questions about invented businesses in five languages, right or rightly declined, and wrong",
  hintIfMissed:
    "the printed questions of the tune half show which sentences the model chose; the test half only counts",
  async run(_, progress) {
    const postgres = await startTestPostgres();
    try {
      const system = await startSystem({ databaseServerUrl: postgres.url, env: { edge: TRUST_FORWARDED_FOR } });
      try {
        const answered = await measureAnswers(system);
        for (const each of answered) if (each.business.half === "tune") printFault(each, progress);
        for (const half of ["tune", "test"] as const)
          progress(`${half}: ${JSON.stringify(countVerdicts(answered, half))}`);
        const counts = countVerdicts(answered, "test");
        const detail = JSON.stringify(counts);
        const right = (counts.right + counts["declined rightly"]) / counts.all;
        const wrong = (counts.wrong + counts["too long"]) / counts.all;
        return [
          atLeast(GOALS.right, { what: "test half, right or rightly declined", value: right, unit: "", detail }),
          atMost(GOALS.wrong, { what: "test half, wrong or too long", value: wrong, unit: "", detail }),
        ];
      } finally {
        await system.stop();
      }
    } finally {
      await postgres.stop();
    }
  },
};

function printFault({ business, question, reply, verdict }: Answered, progress: (line: string) => void): void {
  if (verdict === "right" || verdict === "declined rightly") return;
  progress(`${business.name}, ${verdict}: ${question.question} → ${reply.replace(/\s+/g, " ")}`);
}
