export { splitCompound } from "./compounds.ts";
export { type Day, findAskedDays, findDays, isDayWord, listNamesOfRelativeDay } from "./days.ts";
export { findContinuedQuestion, isFollowUp } from "./follow-up.ts";
export { expandShortForms } from "./short-forms.ts";
export { listSynonyms, SYNONYM_LISTS } from "./synonyms.ts";
export { words } from "./words.ts";
