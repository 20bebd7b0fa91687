import type { UnansweredQuestion } from "./unanswered.store.ts";

export type QuestionGroup = {
  /** The beginning of the latest question. */
  example: string;
  /** The latest question's session. */
  sessionId: string;
  /** When the reply to the latest question was finished, RFC 3339. */
  lastAt: string;
  /** Of the latest question. */
  lexemes: readonly string[];
  /** The number of replies. A reply can be ungrounded, declined and rated down. */
  count: number;
  ungrounded: number;
  declined: number;
  ratedDown: number;
};

/**
 * Groups questions with the same lexemes, regardless of their order, repetition and accents. Sorts the groups by size, the largest first,
 * then by the latest question. Leaves out questions without lexemes, such as a greeting.
 */
export function groupQuestions(latestFirst: readonly UnansweredQuestion[]): QuestionGroup[] {
  const groups = new Map<string, QuestionGroup>();
  for (const question of latestFirst) {
    const key = keyOf(question.lexemes);
    if (key === "") continue;
    const group = groups.get(key);
    const { text: example, sessionId, at: lastAt, lexemes } = question;
    groups.set(key, {
      ...(group ?? { example, sessionId, lastAt, lexemes }),
      count: (group?.count ?? 0) + 1,
      ungrounded: (group?.ungrounded ?? 0) + Number(question.isUngrounded),
      declined: (group?.declined ?? 0) + Number(question.isDeclined),
      ratedDown: (group?.ratedDown ?? 0) + Number(question.isRatedDown),
    });
  }
  // A Map keeps the order of insertion, and sort is stable, so the latest of equally large groups comes first.
  return [...groups.values()].sort((one, other) => other.count - one.count);
}

function keyOf(lexemes: readonly string[]): string {
  const folded = lexemes.map((lexeme) => lexeme.normalize("NFKD").replace(/\p{M}/gu, ""));
  return [...new Set(folded)].sort((one, other) => (one < other ? -1 : 1)).join(" ");
}
