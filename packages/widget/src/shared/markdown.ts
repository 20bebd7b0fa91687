// Parses the subset of Markdown that models use in chats: paragraphs, headings, quotes, lists, code, emphasis and links.
// Everything else is text, including HTML. Parsing a text of n characters takes time proportional to n, except for runs of backticks,
// which can take time proportional to n·√n.

/** The elements that a message can contain. */
export type Tag = "p" | "h3" | "blockquote" | "ul" | "ol" | "li" | "pre" | "code" | "strong" | "em" | "a" | "hr";

/** An element with its children. `value` is the URL of a link or the first number of an ordered list. */
export type Tree = readonly [tag: Tag, children: readonly (Tree | string)[], value?: string];

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6} +((?:[ #]*[^ #]+)*)/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)/;

/**
 * Splits a text into blocks. Appending text changes only the last block and adds blocks after it. Exception: if a text ends with a numbered
 * list, an empty line and a number, the number is a block of its own. When `.` or `)` is appended, the number can become part of the list.
 */
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
    let at = start + 1;
    while (at < lines.length && !test(lines[at] as string, at)) {
      at++;
    }
    return at;
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
  return [FENCE, HEADING, RULE, QUOTE, /^ {0,3}([-*+]|1[.)]) +\S/].some((kind) => kind.test(line));
}

/** Whether two lines are items of the same kind of list, such as `-` or `1.`. */
function isSameList(one: string, other: string): boolean {
  const kind = (line: string) => ITEM.exec(line)?.[2]?.replace(/\d+/, "");
  return kind(one) === kind(other);
}

/**
 * Limits the nesting of quotes and lists, and the number of opening marks that wait for their closing mark. Prevents a stack overflow
 * and limits the time of parsing. Everything beyond the limit becomes text.
 */
const MAX_DEPTH = 6;

/** Parses one block of `splitBlocks`. */
function parseBlock(source: string, depth: number): Tree {
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
    return ["blockquote", parseBlocks(source.replace(new RegExp(QUOTE, "gm"), ""), depth + 1)];
  }
  const item = ITEM.exec(source);
  return item ? parseList(source, item, depth) : ["p", parseInline(source)];
}

/** Parses a text, or the content of a quote or list item at this depth. */
export function parseBlocks(source: string, depth = 0): Tree[] {
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
    const blocks = parseBlocks(lines.join("\n"), depth + 1);
    // The item's first paragraph needs no <p>.
    return ["li", blocks.flatMap((tree, at) => (at === 0 && tree[0] === "p" ? tree[1] : [tree]))];
  });
  const [start] = /\d+/.exec(marker) ?? [];
  return start ? ["ol", children, start] : ["ul", children];
}

/** Matches an escape, a run of backticks, a run of emphasis marks, `]` with the URL of a link, a bare link, or other text. */
const TOKEN =
  /\\([!-/:-@[-`{-~])|(`+)|([*_])\3{0,2}|\](?:\( ?<?([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*)>?(?: +["'][^"'\n]*["'])? ?\))?|\b(https?:\/\/[^\s<>"`*]*[^\s<>"`*.,;:!?'_~)\]])|[^\\`*_[\]h]+|./gs;
const LINKABLE = /^(https?:\/\/|mailto:)/i;

/** Parses the emphasis, code and links in a block's text. */
export function parseInline(source: string): (Tree | string)[] {
  const nodes: (Tree | string)[] = [];
  /** The last opening marks, each with its position in `nodes`. */
  let opened: (readonly [mark: string, at: number])[] = [];
  const open = (mark: string) => {
    opened = [...opened, [mark, nodes.length] as const].slice(-MAX_DEPTH);
    nodes.push(mark);
  };
  /**
   * Forgets the last opening mark of this kind and the opening marks after it. With a tag, also moves all nodes after the mark
   * into an element, which replaces the mark. Returns a truthy value if it made an element.
   */
  const close = (mark: string, tag: Tag | false, ...value: [] | [string]) => {
    const at = opened.findLastIndex(([kind]) => kind === mark);
    const found = opened[at];
    opened = found ? opened.slice(0, at) : opened;
    return found && tag && nodes.push([tag, mergeText(nodes.splice(found[1]).slice(1)), ...value]);
  };
  for (let at = 0; at < source.length; ) {
    TOKEN.lastIndex = at;
    const before = source[at - 1] ?? "";
    const [token, escaped, ticks, mark, url = "", link] = TOKEN.exec(source) as RegExpExecArray;
    at += token.length;
    const after = source[at] ?? "";
    if (ticks) {
      // A run that no later run closes is longer than all later runs. So unclosed runs differ in length, and n characters have at most
      // √(2n) of them.
      const end = source.indexOf(ticks, at);
      nodes.push(end < 0 ? ticks : ["code", [source.slice(at, end).replace(/^ (.*) $/s, "$1")]]);
      at = end < 0 ? at : end + ticks.length;
    } else if (mark) {
      // An underscore opens nothing after a word and closes nothing before a word, because it can be part of a name.
      const isName = (beside: string) => /_[_\p{L}\p{M}\p{N}]/u.test(mark + beside);
      // Closes opened marks, the innermost first. A mark after a space closes none.
      let rest = token;
      for (const [kind] of opened.toReversed()) {
        if (before.trim() && !isName(after) && rest.startsWith(kind) && close(kind, kind[1] ? "strong" : "em")) {
          rest = rest.slice(kind.length);
        }
      }
      if (rest && after !== mark && after.trim() && !isName(before)) {
        // Three marks open <em> first, and <strong> inside it.
        (rest[2] ? [mark, mark + mark] : [rest]).forEach(open);
      } else {
        nodes.push(rest);
      }
    } else if (token === "[") {
      open(token);
    } else if (token[0] === "]") {
      if (!close("[", before !== "[" && LINKABLE.test(url) && "a", url)) {
        nodes.push("]");
        at += 1 - token.length;
      }
    } else {
      nodes.push(link ? ["a", [link], link] : (escaped ?? token));
    }
  }
  return mergeText(nodes);
}

/** Joins adjacent texts and removes empty ones. */
function mergeText(nodes: readonly (Tree | string)[]): (Tree | string)[] {
  const merged: (Tree | string)[] = [];
  let text = "";
  for (const node of nodes) {
    if (typeof node === "string") {
      text += node;
    } else {
      merged.push(text, node);
      text = "";
    }
  }
  return [...merged, text].filter(Boolean);
}
