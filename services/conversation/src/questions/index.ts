export { QuestionSearch } from "./question-search.service.ts";
