// Keep these texts short: the size of the launcher's file is limited.

/** The launcher's accessible name, and the notice that the panel could not be loaded. */
export type LauncherWords = readonly [chat: string, loadFailed: string];

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
  "zh-hant": ["聊天", "請再試一次。"],
};

export function selectLauncherWords(lang: string): LauncherWords {
  return WORDS[lang] ?? ENGLISH;
}
