import { WIDGET_LANGUAGES } from "@parley/widget/languages";
import { beforeAll, describe, expect, it } from "vitest";
import { addTexts, type Catalogue, missingTexts, readCatalogues, readTexts, type SourceTexts } from "./texts.ts";

const catalogues = await readCatalogues();
let sources: SourceTexts;
beforeAll(async () => {
  sources = await readTexts();
});

/** Names of products and systems, and literals that no user reads. */
const NOT_TRANSLATED = new Set([
  ..."Parley Edge Opera Firefox Chrome Safari Android Windows ChromeOS Mac Linux".split(" "),
  "Samsung Internet",
  "Content-Type",
  "Idempotency-Key",
  "Last-Event-ID",
  "SignedOutError",
  "NoResponseError",
  "the console answered …",
  // Parts of code that an owner or operator copies.
  "<script async",
  "parley tool add",
  "Parley.identify({ visitorId, visitorToken })",
]);

describe("the page's texts", () => {
  it("are string literals", () => {
    expect(sources.texts.size).toBeGreaterThan(50);
    expect(sources.problems).toEqual([]);
  });

  it("are translated, apart from names", () => {
    expect(sources.untranslated.filter(({ text }) => !NOT_TRANSLATED.has(text))).toEqual([]);
  });
});

describe.each([...catalogues])("the catalogue %s", (language, catalogue) => {
  it("is of a language that the widget speaks", () => {
    expect(WIDGET_LANGUAGES).toContain(language);
  });

  it("contains only texts of the page, with their placeholders", () => {
    expect(catalogueProblems(language, catalogue)).toEqual([]);
  });

  // Not all, so that a new text does not need all languages at once.
  it("has at least 95 % of the texts", () => {
    const missing = Object.keys(missingTexts(language, sources, catalogue));
    expect(missing.length / sources.texts.size, missing.join("\n")).toBeLessThanOrEqual(0.05);
  });
});

describe("catalogueProblems", () => {
  const plural = "{count} message";
  it.each([
    ["a text of no source", "de", { "Not in the page": "Fehlt" }, ['no source has the text "Not in the page"']],
    ["an empty translation", "de", { Close: "" }, ['"Close" has the translation ""']],
    [
      "a missing placeholder",
      "de",
      { "{part} of {total}": "{part} von allen" },
      [expect.stringContaining("other placeholders")],
    ],
    [
      "forms of a text that is no plural",
      "de",
      { Close: { one: "Zu", other: "Zu" } },
      ['"Close" needs one translation'],
    ],
    [
      "one translation of a plural",
      "de",
      { [`${plural}s`]: "{count} Nachrichten" },
      ['"{count} messages" needs the forms one, other'],
    ],
    [
      "a plural without the number",
      "ar",
      { [`${plural}s`]: { zero: "a", one: "a", two: "a", few: "a", many: "{count}", other: "{count}" } },
      ['"a" has other placeholders than "{count} messages"'],
    ],
  ])("reports %s", (_, language, catalogue, problems) => {
    expect(catalogueProblems(language, catalogue as Catalogue)).toEqual(problems);
  });
});

describe("addTexts", () => {
  const read = (source: string) => {
    const result: SourceTexts = { texts: new Map(), problems: [], untranslated: [] };
    addTexts("a.tsx", source, result);
    return { ...result, texts: [...result.texts] };
  };

  it("reads the texts of t, plural and T", () => {
    const { texts, problems, untranslated } = read(`
      const label = t("Save");
      const count = plural(2, "{count} key", "{count} keys");
      const hint = <T text="Paste {code}." code={<code>{t("Save")}</code>} />;
    `);
    expect(texts).toEqual([
      ["Save", { isPlural: false }],
      ["{count} keys", { isPlural: true }],
      ["Paste {code}.", { isPlural: false }],
    ]);
    expect(problems).toEqual([]);
    expect(untranslated).toEqual([]);
  });

  it.each(["t(label)", "t(`Save`)", 'plural(2, one, "keys")', 'plural(2, "key", others)', "<T text={hint} />"])(
    "reports %s",
    (source) => {
      expect(read(source).problems).toEqual(["a.tsx:1: the text is not a string literal"]);
    },
  );

  it("reports a text that is also a plural", () => {
    expect(read('t("keys"); plural(2, "key", "keys");').problems).toEqual([
      'a.tsx:1: "keys" is a plural in one place only',
    ]);
  });

  it("lists the texts that are not translated", () => {
    const source = `
      import { a } from "Some Module";
      const b = <p className="Two words" title="A title">Hello</p>;
      const c = \`\${count} documents found\`;
      throw new Error("no user reads this");
    `;
    expect(read(source).untranslated).toEqual([
      { place: "a.tsx:3", text: "A title" },
      { place: "a.tsx:3", text: "Hello" },
      { place: "a.tsx:4", text: "… documents found" },
    ]);
  });
});

function catalogueProblems(language: string, catalogue: Catalogue): string[] {
  const rules = new Intl.PluralRules(language);
  const categories = new Set<string>(rules.resolvedOptions().pluralCategories);
  return Object.entries(catalogue).flatMap(([text, translation]) => {
    const source = sources.texts.get(text);
    if (source === undefined) return [`no source has the text "${text}"`];
    if (!source.isPlural && typeof translation === "string") return translationProblems(text, translation);
    if (!source.isPlural) return [`"${text}" needs one translation`];
    const forms = typeof translation === "string" ? {} : translation;
    if (categories.symmetricDifference(new Set(Object.keys(forms))).size > 0)
      return [`"${text}" needs the forms ${[...categories].join(", ")}`];
    return Object.entries(forms).flatMap(([form, words]) =>
      translationProblems(text, words, isOneNumber(rules, form) ? "{count}" : undefined),
    );
  });
}

/** `optional` is a placeholder that the translation may omit. */
function translationProblems(text: string, translation: string, optional?: string): string[] {
  const placeholdersOf = (each: string) =>
    new Set((each.match(/\{\w+\}/g) ?? []).filter((placeholder) => placeholder !== optional));
  if (translation === "" || translation !== translation.trim())
    return [`"${text}" has the translation "${translation}"`];
  const areEqual = placeholdersOf(text).symmetricDifference(placeholdersOf(translation)).size === 0;
  return areEqual ? [] : [`"${translation}" has other placeholders than "${text}"`];
}

/** Whether a plural form is for one number only, as Arabic's `two`, so that it can do without the number. */
function isOneNumber(rules: Intl.PluralRules, form: string): boolean {
  return Array.from({ length: 200 }, (_, number) => rules.select(number)).filter((each) => each === form).length === 1;
}
