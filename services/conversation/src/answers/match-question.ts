/** A question of an owner's answer, with its words for the comparison. */
export type PreparedQuestion = {
  answerId: number;
  question: string;
  words: readonly string[];
  /** See contentOf. */
  content: string;
};

export type QuestionMatch = {
  answerId: number;
  question: string;
  /** From 0 to 1: the share of the letters that are in words which both texts have. */
  similarity: number;
  /** Whether the message asks the question, so that the bot gives the answer. */
  isMatch: boolean;
};

/** A longer message says more than a question, so no answer fits. It is not compared. */
const MAX_CHARACTERS = 600;
const MIN_SIMILARITY = 0.8;
/** Words of fewer letters, such as "the" and "is", may be missing in one of the texts. */
const MIN_CONTENT_LETTERS = 4;

const SEGMENTER = new Intl.Segmenter(undefined, { granularity: "word" });
const ACCENTS = /(?<=[\p{Script=Latin}\p{Script=Greek}])\p{Mn}+/gu;
const DIGIT = /\p{N}/u;
/** The scripts of languages that write words with few letters. */
const DENSE_LETTER = /\p{Script=Han}|\p{Script=Katakana}|\p{Script=Hiragana}|\p{Script=Hangul}|\p{Script=Thai}/u;

export function prepareQuestions(answers: readonly { id: number; questions: readonly string[] }[]): PreparedQuestion[] {
  return answers.flatMap(({ id, questions }) =>
    questions.map((question) => {
      const words = toWords(question);
      return { answerId: id, question, words, content: contentOf(words) };
    }),
  );
}

/** Returns a text's words in lower case and without accents. */
export function toWords(text: string): string[] {
  const normalised = text.normalize("NFKC").toLowerCase().normalize("NFD").replace(ACCENTS, "").normalize("NFC");
  return [...SEGMENTER.segment(normalised)].flatMap(({ segment, isWordLike }) => (isWordLike ? [segment] : []));
}

/** Returns the question that a message asks; undefined if there is none. */
export function findAnswer(message: string, questions: readonly PreparedQuestion[]): QuestionMatch | undefined {
  if (questions.length === 0 || message.length > MAX_CHARACTERS) return undefined;
  const content = contentOf(toWords(message));
  const nearest = findNearest(
    message,
    questions.filter((each) => each.content === content),
  );
  return nearest?.isMatch ? nearest : undefined;
}

/**
 * Returns the question that is most similar to a message, the first of several; undefined if none has a word of the message. Only words that are the same
 * count as equal, because a similar word often means something else: shirts and skirts, Sunday and Monday.
 */
export function findNearest(message: string, questions: readonly PreparedQuestion[]): QuestionMatch | undefined {
  if (message.length > MAX_CHARACTERS) return undefined;
  const words = toWords(message);
  let nearest: QuestionMatch | undefined;
  for (const { answerId, question, words: questionWords } of questions) {
    const { similarity, isMatch } = compare(words, questionWords);
    const isNearer =
      isMatch === (nearest?.isMatch ?? false) ? similarity > (nearest?.similarity ?? 0) : isMatch && similarity > 0;
    if (isNearer) nearest = { answerId, question, similarity, isMatch };
  }
  return nearest;
}

/** Two texts match if they have the same words. One of them may have a few short words more. */
function compare(one: readonly string[], other: readonly string[]): { similarity: number; isMatch: boolean } {
  const onlyOther = [...other];
  const onlyOne: string[] = [];
  let equalLetters = 0;
  for (const word of one) {
    const index = onlyOther.indexOf(word);
    if (index === -1) onlyOne.push(word);
    else equalLetters += 2 * word.length;
    if (index !== -1) onlyOther.splice(index, 1);
  }
  const different = [...onlyOne, ...onlyOther];
  const similarity = equalLetters === 0 ? 0 : equalLetters / (equalLetters + countLetters(different));
  const isOneSided = onlyOne.length === 0 || onlyOther.length === 0;
  return { similarity, isMatch: similarity >= MIN_SIMILARITY && isOneSided && !different.some(hasContent) };
}

/** Returns the words that have content. They are equal if two texts match, and a comparison of them is cheap. */
function contentOf(words: readonly string[]): string {
  return words.filter(hasContent).toSorted().join(" ");
}

function hasContent(word: string): boolean {
  return word.length >= MIN_CONTENT_LETTERS || DIGIT.test(word) || (word.length > 1 && DENSE_LETTER.test(word));
}

function countLetters(words: readonly string[]): number {
  return words.reduce((sum, word) => sum + word.length, 0);
}
