import { words } from "./words.ts";

/** English words without their apostrophe. The others, such as "well" and "im", are also words of their own or of another language. */
const NEGATION = words(
  "(?<verb>does|did|is|are|was|were|have|has|had|could|would|should|must|need)nt",
  undefined,
  "giu",
);
/** "Dont" is also French, so it counts only beside English words. */
const DO_NOT = words(
  "(?<=(?<!\\p{L})(?:i|u|you|we|they|why|who|if|please) )dont|dont(?= (?:i|u|you|we|they|have|want|know|need|like|work)(?!\\p{L}))",
  undefined,
  "giu",
);
const IS = words("(?<word>what|where|how|who|when|that|there)s(?! (?:is|app)(?!\\p{L}))", undefined, "giu");
/** "U" is also Spanish and Dutch, so it counts only after English words. */
const YOU = words(
  "(?<=(?<!\\p{L})(?:do|does|did|can|could|are|will|would|should|have|if|when|what|where|r) )u",
  undefined,
  "giu",
);
const ARE = words("r(?= (?:u|you|they|we|there)(?!\\p{L}))", undefined, "giu");

/** Writes out the short forms of messages that documents never have: "whats" and "do u" become "what is" and "do you". */
export function expandShortForms(message: string): string {
  return message
    .replace(NEGATION, "$<verb> not")
    .replace(DO_NOT, "do not")
    .replace(IS, "$<word> is")
    .replace(YOU, "you")
    .replace(ARE, "are")
    .replace(/(?<!\p{L})(?:can|ca)nt(?!\p{L})/giu, "cannot")
    .replace(/(?<!\p{L})wont(?!\p{L})/giu, "will not");
}
