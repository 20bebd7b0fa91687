// The launcher's own words, here because nothing else is fetched before the visitor opens it. Every letter counts.

/** The launcher's name, and what it says when the panel could not be fetched. */
export type LauncherWords = readonly [chat: string, again: string];

const ENGLISH: LauncherWords = ["Chat", "Please try again."];

const WORDS: Readonly<Record<string, LauncherWords>> = {
  ar: ["الدردشة", "حاول مرة أخرى."],
  de: ["Chat", "Bitte erneut versuchen."],
  es: ["Chat", "Inténtelo de nuevo."],
  fr: ["Chat", "Veuillez réessayer."],
  he: ["צ׳אט", "נסו שוב."],
  it: ["Chat", "Riprovi."],
  ja: ["チャット", "もう一度お試しください。"],
  nl: ["Chat", "Probeer het opnieuw."],
  pl: ["Czat", "Spróbuj ponownie."],
  pt: ["Chat", "Tente novamente."],
  zh: ["聊天", "请重试。"],
};

/** The words of a language, English where it is not spoken. */
export function launcherWords(lang: string): LauncherWords {
  return WORDS[lang.slice(0, 2)] ?? ENGLISH;
}
