import { plainText, type Question } from "./relevance-set.ts";

/** The passages that the search found for a question, and the model's answer. */
export type QuestionResult = {
  /** The passages' texts, best first. */
  passages: string[];
  answer: string;
};

export type Scores = {
  /** Share of the questions for which one of the first five found passages contains one of the question's quotations. */
  hitRateAt5: number;
  /** Mean over the questions of 1 ÷ the rank of the first found passage that contains a quotation, or of 0 if none does. */
  meanReciprocalRank: number;
  /** Share of the model's answers that contain a quotation. */
  answered: number;
};

export function computeScores(results: readonly { question: Question; result: QuestionResult }[]): Scores {
  const ranks = results.map(({ question, result }) => rankOf(question, result));
  const answered = results.filter(({ question, result }) => containsQuotation(result.answer, question));
  const share = (count: number) => count / results.length;
  return {
    hitRateAt5: share(ranks.filter((rank) => rank <= 5).length),
    meanReciprocalRank: share(ranks.reduce((sum, rank) => sum + 1 / rank, 0)),
    answered: share(answered.length),
  };
}

/** Returns the rank, from 1, of the first found passage that contains one of the question's quotations; Infinity if none does. */
function rankOf(question: Question, { passages }: QuestionResult): number {
  const index = passages.findIndex((text) => containsQuotation(text, question));
  return index < 0 ? Number.POSITIVE_INFINITY : index + 1;
}

function containsQuotation(text: string, { quotations }: Question): boolean {
  const plain = plainText(text);
  return quotations.some((quotation) => plain.includes(plainText(quotation).trim()));
}

/** Returns the share of answers in which the model refuses: it replies that it does not know. */
export function shareOfRefusals(results: readonly QuestionResult[]): number {
  return results.filter(({ answer }) => answer.startsWith("Sorry, I don't know.")).length / results.length;
}
