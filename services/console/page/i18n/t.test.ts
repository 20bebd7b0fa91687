import { afterEach, describe, expect, it, vi } from "vitest";
import { chooseLanguage, nameInItself } from "./language.ts";

/** Loads the modules anew, as a page does. */
async function open(language: string, browserLanguages: readonly string[] = []) {
  vi.resetModules();
  const { setLanguage } = await import("./language.ts");
  await setLanguage(language, browserLanguages);
  return { ...(await import("./t.tsx")), ...(await import("./numbers.ts")), ...(await import("./language.ts")) };
}
afterEach(() => vi.resetModules());

describe("in English", () => {
  it("returns the source text with the values, and numbers with separators", async () => {
    const { t } = await open("en");
    expect(t("Sign in")).toBe("Sign in");
    expect(t("{part} of {total}", { part: 1_000, total: "all" })).toBe("1,000 of all");
  });

  it("formats numbers as the browser's region does", async () => {
    const { formatNumber } = await open("en", ["fr-FR", "en-IN"]);
    expect(formatNumber(100_000)).toBe("1,00,000");
  });

  it("returns the form for the number", async () => {
    const { plural } = await open("en");
    const keysOf = (count: number) => plural(count, "{count} key of {bot}", "{count} keys of {bot}", { bot: "Ada" });
    expect([0, 1, 2, 1_000].map(keysOf)).toEqual([
      "0 keys of Ada",
      "1 key of Ada",
      "2 keys of Ada",
      "1,000 keys of Ada",
    ]);
  });

  it("shows elements in place of the placeholders", async () => {
    const { T } = await open("en");
    const { renderToStaticMarkup } = await import("react-dom/server");
    const { createElement: h } = await import("react");
    const element = h(T<"Paste {code} before {tag}.">, {
      text: "Paste {code} before {tag}.",
      code: h("b", null, "this"),
      tag: "</body>",
    });
    expect(renderToStaticMarkup(element)).toBe("Paste <b>this</b> before &lt;/body&gt;.");
  });
});

describe("in another language", () => {
  it("returns the translation, and the source text if there is none", async () => {
    const { t } = await open("de");
    expect(t("Sign in")).toBe("Anmelden");
    expect(t("{part} of {total}", { part: 1_000, total: 2 })).toBe("1.000 von 2");
    expect(t("A text of no catalogue")).toBe("A text of no catalogue");
  });

  it("returns the language's form for the number", async () => {
    const { plural } = await open("ar");
    const one = "{count} of today’s answers was dropped or blocked after it had begun, so it does not count.";
    const other = "{count} of today’s answers were dropped or blocked after they had begun, so they do not count.";
    expect(plural(2, one, other)).toMatch(/^أُلغيت أو حُظرت إجابتان/);
    expect(plural(11, one, other)).toMatch(/^أُلغيت أو حُظرت 11 إجابة/);
  });

  it("is English if there is no catalogue", async () => {
    const { getLanguage, t } = await open("xx");
    expect([getLanguage(), t("Sign in")]).toEqual(["en", "Sign in"]);
  });
});

describe("the language", () => {
  it.each([
    ["the stored choice", "de", ["en-US"], "de"],
    ["the browser's first language with texts", null, ["et", "de-AT", "en"], "de"],
    ["English if it comes first in the browser", null, ["en-GB", "de"], "en"],
    ["English without a language that has texts", "xx", ["et"], "en"],
  ])("is %s", (_, stored, browserLanguages, expected) => {
    expect(chooseLanguage(stored, browserLanguages)).toBe(expected);
  });

  it("has a name in itself", () => {
    expect(["de", "fr", "ar", "zh-hant"].map(nameInItself)).toEqual(["Deutsch", "Français", "العربية", "繁體中文"]);
  });
});
