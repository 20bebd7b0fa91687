// Parses the subset of Markdown that models use in chats: paragraphs, headings, quotes, lists, code, emphasis and links.
// Everything else is text, including HTML.

/** The elements that a message can contain. */
export type Tag = "p" | "h3" | "blockquote" | "ul" | "ol" | "li" | "pre" | "code" | "strong" | "em" | "a" | "hr";

/** An element with its children. `value` is the URL of a link or the first number of an ordered list. */
export type Tree = readonly [tag: Tag, children: readonly (Tree | string)[], value?: string];

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6} +(.*?)[ #]*$/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)/;

/** Splits a text into blocks. Appending text changes only the last block and adds blocks after it. */
export function splitBlocks(source: string): string[] {
  const blocks: string[] = [];
  const lines = source.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n");
  for (let at = 0; at < lines.length; ) {
    const first = lines[at] as string;
    const end = first.trim() === "" ? at + 1 : findBlockEnd(lines, at);
    if (first.trim() !== "") {
      blocks.push(lines.slice(at, end).join("\n").trimEnd());
    }
    at = end;
  }
  return blocks;
}

/** Returns the index of the first line after the block that begins at `start`. */
function findBlockEnd(lines: readonly string[], start: number): number {
  const first = lines[start] as string;
  const findLine = (test: (line: string, at: number) => boolean) => {
    const offset = lines.slice(start + 1).findIndex((line, at) => test(line, start + 1 + at));
    return offset < 0 ? lines.length : start + 1 + offset;
  };
  const fence = FENCE.exec(first)?.[1];
  if (fence) {
    return Math.min(findLine((line) => line.trim().startsWith(fence)) + 1, lines.length);
  }
  if (HEADING.test(first) || RULE.test(first)) {
    return start + 1;
  }
  if (QUOTE.test(first)) {
    return findLine((line) => !QUOTE.test(line));
  }
  const item = ITEM.exec(first);
  if (item) {
    // A list goes on after a blank line if the next line is indented or is another item of the list.
    return findLine((line, at) => {
      const previous = lines[at - 1] as string;
      return (
        line.trim() !== "" &&
        !/^ {2}/.test(line) &&
        !isSameList(first, line) &&
        (previous.trim() === "" || startsBlock(line))
      );
    });
  }
  return findLine((line) => line.trim() === "" || startsBlock(line));
}

/** Whether the line starts a block that can interrupt a paragraph. */
function startsBlock(line: string): boolean {
  return [FENCE, HEADING, RULE, QUOTE].some((kind) => kind.test(line)) || /^ {0,3}([-*+]|1[.)]) +\S/.test(line);
}

/** Whether two lines are items of the same kind of list, such as `-` or `1.`. */
function isSameList(one: string, other: string): boolean {
  const kind = (line: string) => ITEM.exec(line)?.[2]?.replace(/\d+/, "");
  return kind(one) === kind(other);
}

/** The nesting limit of quotes and lists, which protects the stack. Deeper levels become text. */
const MAX_DEPTH = 6;

/** Parses one block of `splitBlocks`. */
export function parseBlock(source: string, depth = 0): Tree {
  const fence = FENCE.exec(source)?.[1];
  if (fence) {
    const lines = source.split("\n").slice(1);
    const isClosed = lines.at(-1)?.trim().startsWith(fence);
    return ["pre", [["code", [(isClosed ? lines.slice(0, -1) : lines).join("\n")]]]];
  }
  const heading = HEADING.exec(source)?.[1];
  if (heading !== undefined) {
    return ["h3", parseInline(heading)];
  }
  if (RULE.test(source)) {
    return ["hr", []];
  }
  if (QUOTE.test(source)) {
    return ["blockquote", parseNested(source.replace(new RegExp(QUOTE, "gm"), ""), depth + 1)];
  }
  const item = ITEM.exec(source);
  return item ? parseList(source, item, depth) : ["p", parseInline(source)];
}

function parseNested(source: string, depth: number): Tree[] {
  return depth > MAX_DEPTH ? [["p", [source]]] : splitBlocks(source).map((block) => parseBlock(block, depth));
}

function parseList(source: string, [, indent = "", marker = ""]: RegExpExecArray, depth: number): Tree {
  const items: string[][] = [];
  for (const line of source.split("\n")) {
    const item = ITEM.exec(line);
    if (item && (item[1] as string).length <= indent.length + 1) {
      items.push([line.slice(item[0].length)]);
    } else {
      items.at(-1)?.push(line.replace(/^ {1,4}/, ""));
    }
  }
  const children = items.map((lines): Tree => {
    const blocks = parseNested(lines.join("\n"), depth + 1);
    // The item's first paragraph needs no <p>.
    return ["li", blocks.flatMap((tree, at) => (at === 0 && tree[0] === "p" ? tree[1] : [tree]))];
  });
  const start = Number.parseInt(marker, 10);
  return Number.isNaN(start) ? ["ul", children] : ["ol", children, String(start)];
}

const LINK =
  /^\[([^[\]]*(?:\[[^[\]]*\][^[\]]*)*)\]\(\s*<?([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*)>?(?:\s+["'][^\n]*?["'])?\s*\)/;
const BARE_LINK = /^https?:\/\/[^\s<>"`*]*[^\s<>"`*.,;:!?'_~)\]]/;
const MAIL = /^mailto:[^\s]+$/i;

/** Parses the emphasis, code and links in a block's text. */
export function parseInline(source: string): (Tree | string)[] {
  const nodes: (Tree | string)[] = [];
  let text = "";
  const add = (tree: Tree, length: number) => {
    nodes.push(...(text ? [text] : []), tree);
    text = "";
    return length;
  };
  for (let at = 0; at < source.length; ) {
    const rest = source.slice(at);
    const char = rest[0] as string;
    const before = source[at - 1] ?? " ";
    const escaped = /^\\([!-/:-@[-`{-~])/.exec(rest)?.[1];
    const length =
      (char === "`" && parseCode(rest, add)) ||
      (/[*_]/.test(char) && parseEmphasis(rest, before, add)) ||
      (char === "[" && parseLink(rest, add)) ||
      (char === "h" && !/\w/.test(before) && parseBareLink(rest, add));
    text += length ? "" : (escaped ?? char);
    at += length || (escaped ? 2 : 1);
  }
  return text ? [...nodes, text] : nodes;
}

/** The maximum length of emphasis. It keeps parsing linear for a text full of unclosed marks. */
const MAX_EMPHASIS_CHARACTERS = 1000;

/** Adds a node that was parsed from `length` characters, and returns `length`. */
type Add = (tree: Tree, length: number) => number;

// Each of these parsers returns the number of characters that it consumed: 0 if `rest` does not begin with its syntax.

function parseCode(rest: string, add: Add): number {
  const ticks = /^`+/.exec(rest)?.[0] as string;
  const end = rest.indexOf(ticks, ticks.length);
  return end < 0 ? 0 : add(["code", [rest.slice(ticks.length, end).replace(/^ (.*) $/s, "$1")]], end + ticks.length);
}

function parseEmphasis(rest: string, before: string, add: Add): number {
  const mark = /^(\*{1,3}|_{1,2})(?![\s*_])/.exec(rest)?.[1];
  // An underscore inside a word is part of a name. After the same mark, the longer mark has already been tried.
  if (!mark || before === mark[0] || (mark[0] === "_" && /\w/.test(before))) {
    return 0;
  }
  const searched = rest.slice(0, MAX_EMPHASIS_CHARACTERS);
  for (let end = searched.indexOf(mark, mark.length + 1); end > 0; end = searched.indexOf(mark, end + 1)) {
    const after = rest[end + mark.length] ?? " ";
    if (/\S/.test(rest[end - 1] as string) && after !== mark[0] && !(mark[0] === "_" && /\w/.test(after))) {
      const inner = parseInline(rest.slice(mark.length, end));
      const strong: Tree = ["strong", inner];
      return add(mark.length === 3 ? ["em", [strong]] : mark.length === 2 ? strong : ["em", inner], end + mark.length);
    }
  }
  return 0;
}

function parseLink(rest: string, add: Add): number {
  const [match, label, url] = LINK.exec(rest) ?? [];
  return match && label && url && (BARE_LINK.test(url) || MAIL.test(url))
    ? add(["a", parseInline(label), url], match.length)
    : 0;
}

function parseBareLink(rest: string, add: Add): number {
  const url = BARE_LINK.exec(rest)?.[0];
  return url ? add(["a", [url], url], url.length) : 0;
}
