import { invalidArgument, isLongerThan } from "@parley/service-kit";

const MAX_QUESTION_CHARACTERS = 500;

/** Returns the trimmed question. Throws invalid_argument if it is empty, is too long or contains NUL. */
export function requireQuestion(text: string): string {
  const question = text.trim();
  if (question === "" || isLongerThan(question, MAX_QUESTION_CHARACTERS) || question.includes("\0"))
    throw invalidArgument(`question must have 1 to ${MAX_QUESTION_CHARACTERS} characters, and no NUL`);
  return question;
}
