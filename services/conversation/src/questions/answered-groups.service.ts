import type { Database } from "@parley/service-kit";
import { findAnswer, listAnswers, prepareQuestions } from "../answers/index.ts";
import type { BotRef } from "../bots/index.ts";
import type { QuestionGroup } from "./group-questions.ts";
import { findNewerDocuments } from "./newer-documents.store.ts";

const MAX_OPEN = 50;
const MAX_ANSWERED = 50;
/** Limits the groups that are checked, because each may need a search. */
const MAX_CHECKED = 200;

export type CheckedGroup = QuestionGroup & {
  /** A document that probably answers the question since it was last asked; empty if there is none. */
  answeredBy: string;
  /** The owner's answer that the bot has given to the question since it was last asked; 0 if there is none. */
  answeredByAnswer: number;
};

/**
 * Finds the groups that were answered since their question was last asked. Returns at most 50 of the others, then at most 50 of those. Checks the
 * groups in their order, at most 200 of them.
 */
export async function splitAnswered(
  database: Database,
  bot: BotRef,
  groups: readonly QuestionGroup[],
): Promise<CheckedGroup[]> {
  const answers = await listAnswers(database, bot);
  const prepared = prepareQuestions(answers);
  const changedAt = new Map(answers.map(({ id, updatedAt }) => [id, updatedAt]));
  const [open, answered]: [CheckedGroup[], CheckedGroup[]] = [[], []];
  for (let start = 0; start < MAX_CHECKED && open.length < MAX_OPEN; start += MAX_OPEN) {
    const batch = groups.slice(start, start + MAX_OPEN);
    if (batch.length === 0) break;
    const documents = await findNewerDocuments(database, bot, batch);
    for (const [index, group] of batch.entries()) {
      // The bot gives the owner's answer whatever the documents contain.
      const given = findAnswer(group.example, prepared);
      const isNew = given !== undefined && (changedAt.get(given.answerId) ?? 0) > new Date(group.lastAt);
      const answeredByAnswer = isNew ? given.answerId : 0;
      const answeredBy = given === undefined ? (documents[index] ?? "") : "";
      const list = answeredBy === "" && answeredByAnswer === 0 ? open : answered;
      list.push({ ...group, answeredBy, answeredByAnswer });
    }
  }
  return [...open.slice(0, MAX_OPEN), ...answered.slice(0, MAX_ANSWERED)];
}
