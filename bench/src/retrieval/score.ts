import { isDecline } from "../../../services/llm-proxy/src/providers/builtin/small-talk.ts";
import { plainText, type Question } from "./relevance-set.ts";

export type QuestionResult = {
  /** The texts of the passages that the search found, best first. */
  passages: string[];
  answer: string;
};

export type Scores = {
  /** Share of the questions for which one of the first five passages contains one of the question's `quotations`. */
  hitRateAt5: number;
  /** Mean over the questions of 1 ÷ the rank of the first passage that contains a quotation; 0 for a question without such a passage. */
  meanReciprocalRank: number;
  /** Share of the questions whose answer contains a quotation. */
  answersWithQuotation: number;
  /** Share of the questions whose answer is from the document that answers the question. */
  answersFromDocument: number;
};

export function computeScores(results: readonly { question: Question; result: QuestionResult }[]): Scores {
  const ranks = results.map(({ question, result }) => rankOf(question, result));
  const answersWithQuotation = results.filter(({ question, result }) => containsQuotation(result.answer, question));
  const answersFromDocument = results.filter(({ question, result }) => result.answer.includes(`— ${question.file}`));
  const perQuestion = (sum: number) => sum / results.length;
  return {
    hitRateAt5: perQuestion(ranks.filter((rank) => rank <= 5).length),
    meanReciprocalRank: perQuestion(ranks.reduce((sum, rank) => sum + 1 / rank, 0)),
    answersWithQuotation: perQuestion(answersWithQuotation.length),
    answersFromDocument: perQuestion(answersFromDocument.length),
  };
}

/** Returns the rank, from 1, of the first passage that contains a quotation; Infinity if none does. */
function rankOf(question: Question, { passages }: QuestionResult): number {
  const index = passages.findIndex((text) => containsQuotation(text, question));
  return index < 0 ? Number.POSITIVE_INFINITY : index + 1;
}

function containsQuotation(text: string, { quotations }: Question): boolean {
  const plain = plainText(text);
  return quotations.some((quotation) => plain.includes(plainText(quotation).trim()));
}

/** A refusal is an answer in which the model replies that it does not know. */
export function shareOfRefusals(results: readonly QuestionResult[]): number {
  return results.filter(({ answer }) => isDecline(answer)).length / results.length;
}
