import { directionOf, selectLanguage } from "@parley/widget/select-language";

/** A translation, or one for each plural category of the language, such as `one` and `other`. */
export type Translation = string | Readonly<{ other: string } & Partial<Record<Intl.LDMLPluralRule, string>>>;
/** Translations by English text. */
export type Catalogue = Readonly<Record<string, Translation>>;

const STORAGE_KEY = "parley-language";
/** The language of the sources. It needs no catalogue. */
const ENGLISH = "en";
const CATALOGUES = import.meta.glob<Catalogue>("./catalogues/*.json", { import: "default" });

/** The languages that the console speaks. */
export const LANGUAGES: readonly string[] = [
  ENGLISH,
  ...Object.keys(CATALOGUES).map((path) => path.replace(/^.*\/|\.json$/g, "")),
].toSorted((a, b) => a.localeCompare(b));

let language = ENGLISH;
let locale = ENGLISH;
let catalogue: Catalogue = {};

export const getLanguage = (): string => language;
/** Returns the language's regional variant of the browser, which decides between 14:05 and 2:05 PM. */
export const getLocale = (): string => locale;
export const getDirection = (): "ltr" | "rtl" => directionOf(language);
export const getTranslation = (text: string): Translation | undefined => catalogue[text];

/** Returns the language that the user has chosen, or else the first language of the browser that the console speaks. */
export function chooseLanguage(stored: string | null, browserLanguages: readonly string[]): string {
  return [stored ?? "", ...browserLanguages.map(selectLanguage)].find((each) => LANGUAGES.includes(each)) ?? ENGLISH;
}

/** Must end before the modules that show texts are imported, because some of them translate texts when they are evaluated. */
export async function openLanguage(): Promise<void> {
  await setLanguage(chooseLanguage(localStorage.getItem(STORAGE_KEY), navigator.languages), navigator.languages);
  document.documentElement.lang = language;
  document.documentElement.dir = getDirection();
}

/** If the language's catalogue cannot be loaded, sets English. */
export async function setLanguage(wanted: string, browserLanguages: readonly string[]): Promise<void> {
  const load = CATALOGUES[`./catalogues/${wanted}.json`];
  const loaded = await load?.().catch(() => undefined);
  language = loaded === undefined ? ENGLISH : wanted;
  catalogue = loaded ?? {};
  locale = browserLanguages.find((tag) => selectLanguage(tag) === language) ?? language;
}

/** Stores the choice and reloads the page in this language. The browser asks first if there are unsaved changes. */
export function changeLanguage(wanted: string): void {
  localStorage.setItem(STORAGE_KEY, wanted);
  location.reload();
}

/** Keeps the punctuation of a name in its place if the text around it has another direction. */
export const isolate = (name: string): string => `\u2068${name}\u2069`;

/** Returns the name of a language in this language, such as "Deutsch" for `de`. */
export function nameInItself(code: string): string {
  const name = new Intl.DisplayNames([code], { type: "language" }).of(code) ?? code;
  return name.charAt(0).toLocaleUpperCase(code) + name.slice(1);
}
