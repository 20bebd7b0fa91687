import type { Problems, SourceFile } from "./problems.ts";

/** Matches a test title: a string or template literal before the test function. */
const TITLE = /\(\s*(?:"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`),\s*(?:async )?\(/g;
const FOLDER = /\s*\(`([^`]+)`\)$/;
const DEFAULT_FOLDER = "tests/edge";

/** Returns a problem for each table row that names no existing test or has an empty visitor or operator cell. */
export function failureModeProblems(page: string, sources: readonly SourceFile[]): Problems {
  const tests = sources.flatMap(({ path, text }) =>
    [...text.matchAll(TITLE)].map(([, quoted, template]) => ({ path, title: quoted ?? template ?? "" })),
  );
  return rowsOf(page).flatMap(([fault = "", visitor = "", operator = "", testCell = ""]) => {
    if (visitor === "" || operator === "") return [`"${fault}" has an empty visitor or operator cell`];
    const folder = FOLDER.exec(testCell)?.[1] ?? DEFAULT_FOLDER;
    const name = testCell.replace(FOLDER, "");
    const exists = tests.some(({ path, title }) => path.startsWith(`${folder}/`) && matchesTitle(title, name));
    return exists ? [] : [`"${fault}" names no existing test in ${folder}: "${name}"`];
  });
}

/** Returns the cells of every body row of the tables whose last column is "test". */
function rowsOf(page: string): string[][] {
  let isInTestTable = false;
  const lines = page.split("\n");
  return lines.flatMap((line, at) => {
    if (!line.startsWith("| ") || line.startsWith("| -")) return [];
    const cells = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim());
    const isHead = lines[at + 1]?.startsWith("| -") ?? false;
    if (isHead) isInTestTable = cells.at(-1) === "test";
    return isInTestTable && !isHead ? [cells] : [];
  });
}

/** Returns whether a title matches the name on the page. In the name, … matches any text. */
function matchesTitle(title: string, name: string): boolean {
  let at = 0;
  for (const piece of name.split("…").map((part) => part.trim())) {
    const found = title.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return at > 0;
}
