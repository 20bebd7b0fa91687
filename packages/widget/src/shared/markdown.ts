// The subset of Markdown that models write in conversations, as a tree: paragraphs, headings, quotes, lists, code,
// emphasis and links. Everything else, HTML above all, is text.

/** The elements a message may hold. */
export type Tag = "p" | "h3" | "blockquote" | "ul" | "ol" | "li" | "pre" | "code" | "strong" | "em" | "a" | "hr";

/** An element with its children; `value` is a link's URL or the number a list starts with. */
export type Tree = readonly [tag: Tag, children: readonly (Tree | string)[], value?: string];

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6} +(.*?)[ #]*$/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)/;

/** Cuts a text into its blocks. What is parsed from an earlier block never changes as text is appended to a later one. */
export function blocks(source: string): string[] {
  const found: string[] = [];
  const lines = source.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n");
  for (let at = 0; at < lines.length; ) {
    const first = lines[at] as string;
    const end = first.trim() === "" ? at + 1 : blockEnd(lines, at);
    if (first.trim() !== "") {
      found.push(lines.slice(at, end).join("\n").trimEnd());
    }
    at = end;
  }
  return found;
}

function blockEnd(lines: readonly string[], start: number): number {
  const first = lines[start] as string;
  const ends = (test: (line: string, at: number) => boolean) => {
    const offset = lines.slice(start + 1).findIndex((line, at) => test(line, start + 1 + at));
    return offset < 0 ? lines.length : start + 1 + offset;
  };
  const fence = FENCE.exec(first)?.[1];
  if (fence) {
    return Math.min(ends((line) => line.trim().startsWith(fence)) + 1, lines.length);
  }
  if (HEADING.test(first) || RULE.test(first)) {
    return start + 1;
  }
  if (QUOTE.test(first)) {
    return ends((line) => !QUOTE.test(line));
  }
  const item = ITEM.exec(first);
  if (item) {
    // A blank line ends a list unless what follows is indented or a further item of the same kind.
    return ends((line, at) => {
      const previous = lines[at - 1] as string;
      return (
        line.trim() !== "" && !/^ {2}/.test(line) && !sameList(first, line) && (previous.trim() === "" || opens(line))
      );
    });
  }
  return ends((line) => line.trim() === "" || opens(line));
}

/** Whether a line begins a block that can interrupt a paragraph. */
function opens(line: string): boolean {
  return [FENCE, HEADING, RULE, QUOTE].some((kind) => kind.test(line)) || /^ {0,3}([-*+]|1[.)]) +\S/.test(line);
}

function sameList(one: string, other: string): boolean {
  const kind = (line: string) => ITEM.exec(line)?.[2]?.replace(/\d+/, "");
  return kind(one) === kind(other);
}

/** Nobody quotes deeper; what would is shown as text, and no reply can exhaust the stack. */
const MAX_DEPTH = 6;

/** Parses one block as `blocks` cuts them. */
export function parseBlock(source: string, depth = 0): Tree {
  const fence = FENCE.exec(source)?.[1];
  if (fence) {
    const lines = source.split("\n").slice(1);
    const closed = lines.at(-1)?.trim().startsWith(fence);
    return ["pre", [["code", [(closed ? lines.slice(0, -1) : lines).join("\n")]]]];
  }
  const heading = HEADING.exec(source)?.[1];
  if (heading !== undefined) {
    return ["h3", inline(heading)];
  }
  if (RULE.test(source)) {
    return ["hr", []];
  }
  if (QUOTE.test(source)) {
    return ["blockquote", parse(source.replace(new RegExp(QUOTE, "gm"), ""), depth + 1)];
  }
  const item = ITEM.exec(source);
  return item ? list(source, item, depth) : ["p", inline(source)];
}

function parse(source: string, depth: number): Tree[] {
  return depth > MAX_DEPTH ? [["p", [source]]] : blocks(source).map((block) => parseBlock(block, depth));
}

function list(source: string, [, indent = "", marker = ""]: RegExpExecArray, depth: number): Tree {
  const items: string[][] = [];
  for (const line of source.split("\n")) {
    const item = ITEM.exec(line);
    if (item && (item[1] as string).length <= indent.length + 1 && items.push([line.slice(item[0].length)])) {
      continue;
    }
    items.at(-1)?.push(line.replace(/^ {1,4}/, ""));
  }
  const children = items.map((lines): Tree => {
    const parsed = parse(lines.join("\n"), depth + 1);
    // An item of one paragraph, perhaps with a list below it, is set tight.
    return ["li", parsed.flatMap((tree) => (tree[0] === "p" && parsed.indexOf(tree) === 0 ? tree[1] : [tree]))];
  });
  const start = Number.parseInt(marker, 10);
  return Number.isNaN(start) ? ["ul", children] : ["ol", children, String(start)];
}

const LINK =
  /^\[([^[\]]*(?:\[[^[\]]*\][^[\]]*)*)\]\(\s*<?([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*)>?(?:\s+["'][^\n]*?["'])?\s*\)/;
const BARE_LINK = /^https?:\/\/[^\s<>"`*]*[^\s<>"`*.,;:!?'_~)\]]/;
const MAIL = /^mailto:[^\s]+$/i;

/** Parses emphasis, code and links within a block. */
export function inline(source: string): (Tree | string)[] {
  const found: (Tree | string)[] = [];
  let text = "";
  const add = (tree: Tree, length: number) => {
    found.push(...(text ? [text] : []), tree);
    text = "";
    return length;
  };
  for (let at = 0; at < source.length; ) {
    const rest = source.slice(at);
    const char = rest[0] as string;
    const before = source[at - 1] ?? " ";
    const escaped = /^\\([!-/:-@[-`{-~])/.exec(rest)?.[1];
    const length =
      (char === "`" && code(rest, add)) ||
      (/[*_]/.test(char) && emphasis(rest, before, add)) ||
      (char === "[" && link(rest, add)) ||
      (char === "h" && !/\w/.test(before) && bareLink(rest, add));
    text += length ? "" : (escaped ?? char);
    at += length || (escaped ? 2 : 1);
  }
  return text ? [...found, text] : found;
}

/** Emphasis ends within so many characters: the time for a reply full of unclosed marks stays linear. */
const MAX_EMPHASIS = 1000;

type Add = (tree: Tree, length: number) => number;

function code(rest: string, add: Add): number {
  const ticks = /^`+/.exec(rest)?.[0] as string;
  const end = rest.indexOf(ticks, ticks.length);
  return end < 0 ? 0 : add(["code", [rest.slice(ticks.length, end).replace(/^ (.*) $/s, "$1")]], end + ticks.length);
}

function emphasis(rest: string, before: string, add: Add): number {
  const mark = /^(\*{1,3}|_{1,2})(?![\s*_])/.exec(rest)?.[1];
  // An underscore inside a word is part of a name; a mark after a mark has been looked at with it.
  if (!mark || before === mark[0] || (mark[0] === "_" && /\w/.test(before))) {
    return 0;
  }
  const reach = rest.slice(0, MAX_EMPHASIS);
  for (let end = reach.indexOf(mark, mark.length + 1); end > 0; end = reach.indexOf(mark, end + 1)) {
    const after = rest[end + mark.length] ?? " ";
    if (/\S/.test(rest[end - 1] as string) && after !== mark[0] && !(mark[0] === "_" && /\w/.test(after))) {
      const inner = inline(rest.slice(mark.length, end));
      const strong: Tree = ["strong", inner];
      return add(mark.length === 3 ? ["em", [strong]] : mark.length === 2 ? strong : ["em", inner], end + mark.length);
    }
  }
  return 0;
}

function link(rest: string, add: Add): number {
  const [whole, label, url] = LINK.exec(rest) ?? [];
  return whole && label && url && (BARE_LINK.test(url) || MAIL.test(url))
    ? add(["a", inline(label), url], whole.length)
    : 0;
}

function bareLink(rest: string, add: Add): number {
  const url = BARE_LINK.exec(rest)?.[0];
  return url ? add(["a", [url], url], url.length) : 0;
}
