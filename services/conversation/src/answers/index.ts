export { listAnswers, readAnswer } from "./answers.store.ts";
export { findAnswer, type PreparedQuestion, prepareQuestions } from "./match-question.ts";
