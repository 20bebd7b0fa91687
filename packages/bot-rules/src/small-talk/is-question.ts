import { detectSmallTalk } from "./small-talk.ts";

/** Longer messages are not searched for gibberish. */
const MAX_CHARACTERS = 80;
/** Shorter words can be abbreviations. */
const MIN_CHARACTERS = 4;
const VOWELS = /[aeiouy\u00e0-\u024f]/;
const LATIN = /^[a-z\u00df-\u024f]+$/;
const REPETITION = /^(.{1,3})\1{2,}.{0,2}$/;
const KEYBOARD_ROWS = ["qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm"];
const KEYBOARD_RUN = 4;

/** Whether a message may ask something. Small talk and gibberish do not, such as "asdfgh", "hahaha" and "???". */
export function isQuestion(message: string): boolean {
  return detectSmallTalk(message) === undefined && !isGibberish(message);
}

function isGibberish(message: string): boolean {
  if (message.length > MAX_CHARACTERS) return false;
  const words =
    message
      .normalize("NFC")
      .toLowerCase()
      .match(/\p{L}[\p{L}\p{M}]*/gu) ?? [];
  return words.every(isMeaningless);
}

function isMeaningless(word: string): boolean {
  if (word.length < MIN_CHARACTERS || !LATIN.test(word)) return false;
  return !VOWELS.test(word) || REPETITION.test(word) || isTypedAlongTheKeyboard(word);
}

/** Whether a word consists of runs of neighbouring keys, such as "asdfasdf" and "qwerty". */
function isTypedAlongTheKeyboard(word: string): boolean {
  let rest = word;
  while (rest.length >= KEYBOARD_RUN) {
    const run = longestRun(rest);
    if (run < KEYBOARD_RUN) return false;
    rest = rest.slice(run);
  }
  return KEYBOARD_ROWS.some((row) => row.includes(rest));
}

function longestRun(text: string): number {
  let length = 0;
  while (length < text.length && KEYBOARD_ROWS.some((row) => row.includes(text.slice(0, length + 1)))) length++;
  return length;
}
