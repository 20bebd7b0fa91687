import type { Problems, SourceFile } from "./problems.ts";

/** Matches a test title: a string or template literal before the test function. */
const TITLE = /\(\s*(?:"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`),\s*(?:async )?\(/g;
/** Matches the folder at the end of a cell in the column "test", such as ``(`tests/usage-accounting`)``. */
const FOLDER = /\s*\(`([^`]+)`\)$/;
/** The folder of the test if the cell names no folder. */
const DEFAULT_FOLDER = "tests/edge";

/** Reports each table row that names no existing test, or that has an empty visitor or operator cell. */
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
  return lines.flatMap((line, index) => {
    if (!line.startsWith("| ") || line.startsWith("| -")) return [];
    const cells = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim());
    const isHeader = lines[index + 1]?.startsWith("| -") ?? false;
    if (isHeader) isInTestTable = cells.at(-1) === "test";
    return isInTestTable && !isHeader ? [cells] : [];
  });
}

/** Returns whether a title contains the name on the page. In the name, … matches any text. An empty name matches no title. */
function matchesTitle(title: string, name: string): boolean {
  let end = 0;
  for (const piece of name.split("…").map((part) => part.trim())) {
    const start = title.indexOf(piece, end);
    if (start === -1) return false;
    end = start + piece.length;
  }
  return end > 0;
}
