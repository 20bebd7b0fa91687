import { fetchManifest } from "./load-panel.ts";

// The build reads these texts from src/lang: see globals.d.ts. Only the labels are in the launcher's file, whose size is limited.

/** Returns the language of the label: `lang`, or English if there is no label in that language. */
export const selectLabelLanguage = (lang: string) => (LABELS[lang] ? lang : "en");

/** Returns the launcher's accessible name. */
export function createLabel(lang: string, botName: string): string {
  const chat = LABELS[lang] ?? "Chat";
  return botName ? `${chat}: ${botName}` : chat;
}

/** Returns the notice that the panel could not be loaded. It is in English if the service does not send the notice in `lang`. */
export async function fetchLoadError(base: string, lang: string): Promise<string> {
  const manifest = await fetchManifest(base).catch(() => undefined);
  return manifest?.loadErrors[lang] ?? "The chat could not be loaded. Please try again.";
}
