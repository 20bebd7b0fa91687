export { QuestionSearch } from "./question-search.service.ts";
export { requireQuestion } from "./require-question.ts";
