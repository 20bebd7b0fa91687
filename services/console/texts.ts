import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { WIDGET_LANGUAGES } from "@parley/widget/languages";
import { type ESTree, parseSync, Visitor } from "vite";

const PAGE = join(import.meta.dirname, "page");
const CATALOGUES = join(PAGE, "i18n/catalogues");

/** A text of the page. A plural has a translation for each plural category of a language. */
export type SourceText = { isPlural: boolean };
export type SourceTexts = {
  /** By English text. Of a plural, the text for other numbers than one. */
  texts: Map<string, SourceText>;
  /** Uses of `t`, `plural` and `T` that this reader does not understand, with their places. */
  problems: string[];
  /** Literals that look like texts but are not translated. */
  untranslated: { place: string; text: string }[];
};
export type Catalogue = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

type Span = { start: number; end: number };
type Node = { type: string } & Span;

/** Attributes whose values no user reads. */
const HIDDEN_ATTRIBUTES =
  /^(?:class(?:Name)?|d|href|id|key|name|path|pattern|preserveAspectRatio|src|to|viewBox|aria-(?:current|describedby|labelledby))$/;
/** Functions and classes whose arguments no user reads. */
const HIDDEN_CALLS =
  /^(?:Error|TypeError|SyntaxError|super|lazyRouteComponent|querySelector|querySelectorAll|closest|includes|startsWith|replace)$/;
/** A label, which begins with a capital letter, or two words. */
const LOOKS_LIKE_TEXT = /^\p{Lu}\p{Ll}|^\p{Lu}$|\p{L}[,:]? \p{L}/u;

/** Reads the texts from the sources of the page. */
export async function readTexts(): Promise<SourceTexts> {
  const result: SourceTexts = { texts: new Map(), problems: [], untranslated: [] };
  for (const path of (await readdir(PAGE, { recursive: true })).toSorted()) {
    if (!/\.tsx?$/.test(path) || /\.(?:test|d)\.ts$|^i18n\//.test(path)) continue;
    addTexts(path, await readFile(join(PAGE, path), "utf8"), result);
  }
  return result;
}

/** Returns the catalogues by language. */
export async function readCatalogues(): Promise<Map<string, Catalogue>> {
  const names = (await readdir(CATALOGUES)).toSorted();
  const read = async (name: string) =>
    [name.replace(".json", ""), JSON.parse(await readFile(join(CATALOGUES, name), "utf8")) as Catalogue] as const;
  return new Map(await Promise.all(names.map(read)));
}

/** Returns the texts that a catalogue lacks, in the format of a catalogue. */
export function missingTexts(language: string, { texts }: SourceTexts, catalogue: Catalogue = {}): Catalogue {
  const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories.map((form) => [form, ""] as const);
  return Object.fromEntries(
    [...texts]
      .filter(([text]) => !Object.hasOwn(catalogue, text))
      .map(([text, { isPlural }]) => [text, isPlural ? Object.fromEntries(forms) : ""]),
  );
}

/** Adds the texts of one source file to the result. */
export function addTexts(path: string, source: string, { texts, problems, untranslated }: SourceTexts): void {
  const { program, errors } = parseSync(path, source);
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`);
  const { uses, literals, hidden } = findLiterals(program);
  const placeOf = ({ start }: Span) => `${path}:${source.slice(0, start).split("\n").length}`;
  for (const use of uses) {
    const { text, isPlural } = use;
    if (text === undefined) problems.push(`${placeOf(use)}: the text is not a string literal`);
    else if (texts.has(text) && texts.get(text)?.isPlural !== isPlural)
      problems.push(`${placeOf(use)}: "${text}" is a plural in one place only`);
    else texts.set(text, { isPlural });
  }
  for (const { text, ...span } of literals) {
    if (hidden.some(({ start, end }) => start <= span.start && span.end <= end)) continue;
    untranslated.push({ place: placeOf(span), text: text.trim().replaceAll(/\s+/g, " ") });
  }
}

type Literals = {
  /** Uses of `t`, `plural` and `T`. `text` is undefined if it is not a string literal. */
  uses: (Span & { text: string | undefined; isPlural: boolean })[];
  /** What looks like a text. */
  literals: (Span & { text: string })[];
  /** Parts of the file that are translated or that no user reads. */
  hidden: Span[];
};

function findLiterals(program: ESTree.Program): Literals {
  const found: Literals = { uses: [], literals: [], hidden: [] };
  const addUse = (use: Span, argument: Node | null | undefined, isPlural: boolean) => {
    if (argument) found.hidden.push(argument);
    found.uses.push({ ...spanOf(use), text: argument ? stringOf(argument) : undefined, isPlural });
  };
  const addLiteral = (node: Span, text: string, pattern = LOOKS_LIKE_TEXT) => {
    if (pattern.test(text)) found.literals.push({ ...spanOf(node), text });
  };
  new Visitor({
    ImportDeclaration: (node) => void found.hidden.push(node),
    Property: ({ key }) => void found.hidden.push(key),
    NewExpression: (node) => {
      if (HIDDEN_CALLS.test(nameOf(node.callee))) found.hidden.push(...node.arguments);
    },
    CallExpression: (node) => {
      const name = nameOf(node.callee);
      const [first, one, other] = node.arguments;
      if (HIDDEN_CALLS.test(name)) found.hidden.push(...node.arguments);
      if (name === "t") addUse(node, first, false);
      if (name !== "plural") return;
      if (one) found.hidden.push(one);
      addUse(node, one && stringOf(one) !== undefined ? other : undefined, true);
    },
    JSXOpeningElement: (node) => {
      if (node.name.type !== "JSXIdentifier" || node.name.name !== "T") return;
      const text = node.attributes.find((each) => each.type === "JSXAttribute" && each.name.name === "text");
      addUse(node, text?.type === "JSXAttribute" ? text.value : undefined, false);
    },
    JSXAttribute: (node) => {
      if (node.name.type === "JSXIdentifier" && HIDDEN_ATTRIBUTES.test(node.name.name)) found.hidden.push(node);
    },
    JSXText: (node) => addLiteral(node, node.value, /\p{L}/u),
    Literal: (node) => addLiteral(node, stringOf(node) ?? ""),
    TemplateLiteral: (node) => addLiteral(node, node.quasis.map(({ value }) => value.raw).join("…")),
  }).visit(program);
  return found;
}

function spanOf({ start, end }: Span): Span {
  return { start, end };
}

/** Returns the name of a function or class, or of a method. */
function nameOf(callee: ESTree.Expression): string {
  if (callee.type === "Super") return "super";
  if (callee.type === "MemberExpression" && callee.property.type === "Identifier") return callee.property.name;
  return callee.type === "Identifier" ? callee.name : "";
}

function stringOf(node: Node): string | undefined {
  return "value" in node && node.type === "Literal" && typeof node.value === "string" ? node.value : undefined;
}

// Prints what the catalogues of the named languages, or of all, lack.
if (import.meta.main) {
  const [sources, catalogues] = await Promise.all([readTexts(), readCatalogues()]);
  const named = process.argv.slice(2);
  const languages = named.length > 0 ? named : WIDGET_LANGUAGES.filter((language) => language !== "en");
  const missing = languages.map(
    (language) => [language, missingTexts(language, sources, catalogues.get(language))] as const,
  );
  console.log(JSON.stringify(Object.fromEntries(missing), null, 2));
}
