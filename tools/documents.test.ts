import { stat } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { readSources } from "./repository.ts";
import { ROOT } from "./run-tool.ts";

const documents = await readSources("*.md");
const anchorsByPath = new Map(documents.map(({ path, text }) => [path, anchorsOf(text)]));
const { scripts } = JSON.parse((await readSources("package.json"))[0]?.text ?? "") as { scripts: object };

/** Returns the anchors that GitHub gives to the headings. */
function anchorsOf(text: string): Set<string> {
  const headings = withoutCodeBlocks(text).matchAll(/^#+ (.+)$/gm);
  return new Set(Array.from(headings, ([, heading = ""]) => slugOf(heading)));
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

function withoutCodeBlocks(text: string): string {
  return text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, "");
}

async function exists(path: string): Promise<boolean> {
  return stat(join(ROOT, path)).then(
    () => true,
    () => false,
  );
}

async function isBroken(document: string, link: string): Promise<boolean> {
  const [file = "", anchor] = link.split("#");
  const path = file === "" ? document : normalize(join(dirname(document), file));
  return anchor === undefined ? !(await exists(path)) : !anchorsByPath.get(path)?.has(anchor);
}

test("each relative link resolves", async () => {
  const links = documents.flatMap(({ path, text }) => {
    const prose = withoutCodeBlocks(text).replaceAll(/`[^`\n]*`/g, "");
    return Array.from(prose.matchAll(/\]\((?!\w+:)([^\s)]+)\)/g), ([, link = ""]) => ({ path, link }));
  });
  expect(links.length).toBeGreaterThan(100);
  const checked = links.map(async ({ path, link }) => ((await isBroken(path, link)) ? [`${path}: ${link}`] : []));
  expect((await Promise.all(checked)).flat()).toEqual([]);
});

test("each pnpm command exists", () => {
  const commands = documents.flatMap(({ text }) => [...text.matchAll(/(?:\bpnpm@\d+|`pnpm) (?!exec )([a-z][\w:-]*)/g)]);
  const names = new Set(commands.map(([, name = ""]) => name));
  expect(names.size).toBeGreaterThan(10);
  expect([...names].filter((name) => !(name in scripts))).toEqual([]);
});
