import type { PANEL_ENGLISH } from "./english.ts";

export type Words = Readonly<Record<keyof typeof PANEL_ENGLISH, string>>;

/** Placeholders without a value stay in the text. */
export function fillPlaceholders(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (placeholder, name: string) => String(values[name] ?? placeholder));
}

const TIMEOUT_MS = 3_000;

/** Texts and their language, a BCP 47 tag. */
export interface Texts<English> {
  readonly words: Readonly<Record<keyof English, string>>;
  readonly lang: string;
}

/** Fetches the translation of `english`. Returns `english` if there is none or it cannot be fetched within 3 s. */
export async function loadTexts<English extends Readonly<Record<string, string>>>(
  english: English,
  lang: string,
  base: string,
): Promise<Texts<English>> {
  // The build defines LANGUAGES: see globals.d.ts. English is built in, so it is not among them.
  const [version, offered] = LANGUAGES;
  if (offered.includes(lang)) {
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await fetch(`${base}widget/${lang}.${version}.json`, { credentials: "omit", signal });
      if (response.ok) {
        return { words: (await response.json()) as Texts<English>["words"], lang };
      }
    } catch {
      // The texts are in English.
    }
  }
  return { words: english, lang: "en" };
}
