import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parts, type Section } from "../tests/contract/sentences.ts";
import { markdownTable } from "./markdown-table.ts";

const root = fileURLToPath(new URL("../", import.meta.url));

export type ProvingTest = { title: string; file: string };

/**
 * Matches the start of a test up to the end of its title: `test("title"`, `test.concurrent("title"` or `test.each(TABLE)("title"`. A TABLE must
 * contain no string and at most one level of parentheses. The formatter uses single quotes for a title that contains double quotes.
 */
const TEST =
  /\btest(?:\.\w+)*(?:\((?:[^()"']|\([^()"']*\))*\))?\(\s*(?:"(?<double>(?:[^"\\]|\\.)*)"|'(?<single>(?:[^'\\]|\\.)*)')/g;

export function readTests(): ProvingTest[] {
  const folder = join(root, "tests/contract");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  return files
    .toSorted((a, b) => a.localeCompare(b, "en"))
    .flatMap((file) => {
      const source = readFileSync(join(folder, file), "utf8");
      return [...source.matchAll(TEST)].map(({ groups }) => ({
        title: groups?.double ?? groups?.single ?? "",
        file: `tests/contract/${file}`,
      }));
    });
}

/** Returns the sentence IDs in a title. [4.1/3] is one sentence, [2.2/1-10] are ten. */
export function idsOf(title: string): string[] {
  return [...title.matchAll(/\[([\w.]+)\/(\d+)(?:-(\d+))?\]/g)].flatMap(([, section, first, last = first]) =>
    Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => `${section}/${Number(first) + index}`),
  );
}

export type Coverage = {
  /** Markdown tables of the sentences and their tests. The links are relative to the root of the repository. */
  page: string;
  /** Sentences without a test, sentences with the same ID, and test titles without a sentence ID or with an unknown one. */
  problems: string[];
};

/** Maps the sentences of the contract to the tests that prove them. */
export function buildCoverage(tests: readonly ProvingTest[], contractParts: typeof parts = parts): Coverage {
  const allIds = contractParts.flatMap(({ sections }) => sections.flatMap(sentenceIds));
  const ids = new Set(allIds);
  const problems = allIds
    .filter((id, index) => allIds.indexOf(id) < index)
    .map((id) => `two sentences have the ID ${id}`);
  const titleProblems = tests.flatMap(({ title, file }) => {
    const titleIds = idsOf(title);
    if (titleIds.length === 0) return [`${file}: "${title}" has no sentence ID`];
    return titleIds.filter((id) => !ids.has(id)).map((id) => `${file}: "${title}" has the unknown sentence ID ${id}`);
  });
  problems.push(...titleProblems);
  const testsById = Map.groupBy(
    tests.flatMap((test) => idsOf(test.title).map((id) => ({ id, test }))),
    ({ id }) => id,
  );
  problems.push(...[...ids].filter((id) => !testsById.has(id)).map((id) => `${id} has no test`));

  const table = (section: Section) => [
    `### ${section.id} ${section.title}`,
    "",
    markdownTable(
      ["id", "sentence", "test"],
      Object.entries(section.sentences).map(([number, sentence]) => {
        const links = (testsById.get(`${section.id}/${number}`) ?? []).map(({ test }) => formatLink(test));
        return [`${section.id}/${number}`, sentence, links.join("<br>") || "**missing**"];
      }),
    ),
    "",
  ];
  const lines = contractParts.flatMap(({ title, sections }) => [`## ${title}`, "", ...sections.flatMap(table)]);
  return { page: ["# Contract coverage", "", ...lines].join("\n"), problems };
}

function sentenceIds(section: Section): string[] {
  return Object.keys(section.sentences).map((number) => `${section.id}/${number}`);
}

function formatLink({ title, file }: ProvingTest): string {
  return `[${title.replace(/ ?\[[^\]]*\]/g, "")}](${file})`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { page, problems } = buildCoverage(readTests());
  console.log(page);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
