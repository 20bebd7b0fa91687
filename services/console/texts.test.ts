import { WIDGET_LANGUAGES } from "@parley/widget/languages";
import { beforeAll, describe, expect, it } from "vitest";
import { addTexts, type Catalogue, readCatalogues, readTexts, type SourceTexts } from "./texts.ts";

const catalogues = await readCatalogues();
let sources: SourceTexts;
beforeAll(async () => {
  sources = await readTexts();
});

describe("the page's texts", () => {
  it("are string literals", () => {
    expect(sources.texts.size).toBeGreaterThan(50);
    expect(sources.problems).toEqual([]);
  });
});

describe.each([...catalogues])("the catalogue %s", (language, catalogue) => {
  it("is of a language that the widget speaks", () => {
    expect(WIDGET_LANGUAGES).toContain(language);
  });

  it("contains only texts of the page, with their placeholders", () => {
    expect(catalogueProblems(language, catalogue)).toEqual([]);
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
      ["Save", { isPlural: false, files: ["a.tsx"] }],
      ["{count} keys", { isPlural: true, files: ["a.tsx"] }],
      ["Paste {code}.", { isPlural: false, files: ["a.tsx"] }],
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
    expect(read(source).untranslated).toEqual(["a.tsx:3: A title", "a.tsx:3: Hello", "a.tsx:4: … documents found"]);
  });
});

function catalogueProblems(language: string, catalogue: Catalogue): string[] {
  const rules = new Intl.PluralRules(language);
  const categories = new Set<string>(rules.resolvedOptions().pluralCategories);
  return Object.entries(catalogue).flatMap(([text, translation]) => {
    const source = sources.texts.get(text);
    const needed = `"${text}" needs ${source?.isPlural ? `the forms ${[...categories].join(", ")}` : "one translation"}`;
    if (source === undefined) return [`no source has the text "${text}"`];
    if (typeof translation === "string") {
      if (source.isPlural) return [needed];
      return equalPlaceholders(text, translation) ? [] : [`"${translation}" has other placeholders than "${text}"`];
    }
    const forms = Object.keys(translation);
    if (!source.isPlural || categories.symmetricDifference(new Set(forms)).size > 0) return [needed];
    return Object.entries(translation)
      .filter(([form, words]) => !equalPlaceholders(text, words, isOneNumber(rules, form) ? "{count}" : undefined))
      .map(([, words]) => `"${words}" has other placeholders than "${text}"`);
  });
}

function equalPlaceholders(text: string, translation: string, ignored?: string): boolean {
  const placeholdersOf = (each: string) => (each.match(/\{\w+\}/g) ?? []).filter((name) => name !== ignored);
  return new Set(placeholdersOf(text)).symmetricDifference(new Set(placeholdersOf(translation))).size === 0;
}

/** Whether a plural form is for one number only, as Arabic's `two`, so that it can do without the number. */
function isOneNumber(rules: Intl.PluralRules, form: string): boolean {
  return Array.from({ length: 200 }, (_, number) => rules.select(number)).filter((each) => each === form).length === 1;
}
