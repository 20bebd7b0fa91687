import type { Problems, SourceFile } from "./problems.ts";

/** A title: a string, or a template, that is followed by the function it names. */
const TITLE = /\(\s*(?:"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`),\s*(?:async )?\(/g;
const FOLDER = /\s*\(`([^`]+)`\)$/;
const USUAL_FOLDER = "tests/edge";

/** The rows of the page's tables that name no test there is, or say what nobody sees. */
export function failureModeProblems(page: string, sources: readonly SourceFile[]): Problems {
  const tests = sources.flatMap(({ path, text }) =>
    [...text.matchAll(TITLE)].map(([, quoted, template]) => ({ path, title: quoted ?? template ?? "" })),
  );
  return rowsOf(page).flatMap(([fault = "", visitor = "", operator = "", named = ""]) => {
    if (visitor === "" || operator === "") return [`"${fault}" does not say what the visitor or the operator sees`];
    const folder = FOLDER.exec(named)?.[1] ?? USUAL_FOLDER;
    const name = named.replace(FOLDER, "");
    const isThere = tests.some(({ path, title }) => path.startsWith(`${folder}/`) && isNamed(title, name));
    return isThere ? [] : [`"${fault}" names no test in ${folder}: "${name}"`];
  });
}

/** The cells of every row, without the heads, of the tables that say in their last column which test it is. */
function rowsOf(page: string): string[][] {
  let isTested = false;
  const lines = page.split("\n");
  return lines.flatMap((line, at) => {
    if (!line.startsWith("| ") || line.startsWith("| -")) return [];
    const cells = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim());
    const isHead = lines[at + 1]?.startsWith("| -") ?? false;
    if (isHead) isTested = cells.at(-1) === "test";
    return isTested && !isHead ? [cells] : [];
  });
}

/** Whether a title says what the page says, piece by piece: … stands for what a table or a constant fills in. */
function isNamed(title: string, name: string): boolean {
  let at = 0;
  for (const piece of name.split("…").map((part) => part.trim())) {
    const found = title.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return at > 0;
}
