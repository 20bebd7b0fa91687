// Keep these texts short: the size of the launcher's file is limited.

/** The launcher's accessible name, and the notice that the panel could not be loaded. */
export type LauncherWords = readonly [chat: string, loadFailed: string];

const CHAT: Readonly<Record<string, string>> = {
  ar: "الدردشة",
  he: "צ׳אט",
  ja: "チャット",
  pl: "Czat",
  zh: "聊天",
  "zh-hant": "聊天",
};

const LOAD_FAILED: Readonly<Record<string, string>> = {
  ar: "حاول مرة أخرى.",
  de: "Bitte erneut versuchen.",
  es: "Inténtelo de nuevo.",
  fr: "Veuillez réessayer.",
  he: "נסו שוב.",
  it: "Riprovi.",
  ja: "もう一度お試しください。",
  nl: "Probeer het opnieuw.",
  pl: "Spróbuj ponownie.",
  pt: "Tente novamente.",
  zh: "请重试。",
  "zh-hant": "請再試一次。",
};

export function selectLauncherWords(lang: string): LauncherWords {
  return [CHAT[lang] ?? "Chat", LOAD_FAILED[lang] ?? "Please try again."];
}
