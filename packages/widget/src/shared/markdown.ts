// Parses the subset of Markdown that models use in chats: paragraphs, headings, quotes, lists, tables, code, emphasis and links.
// Everything else is text, including HTML other than <br>. Parsing a text of n characters takes time proportional to n.

/** The elements that a message can contain. `div` is the box in which a wide table scrolls. */
export type Tag =
  | ("p" | "h3" | "blockquote" | "ul" | "ol" | "li" | "pre" | "code" | "hr")
  | ("div" | "table" | "thead" | "tbody" | "tr" | "th" | "td")
  | ("strong" | "em" | "del" | "a");

/**
 * An element with its children. `value` is the URL of a link, the first number of an ordered list, the alignment of a table's cell
 * (`left`, `center`, `right` or empty), or the label of a table's box.
 */
export type Tree = readonly [tag: Tag, children: readonly (Tree | string)[], value?: string];

const FENCE = /^ {0,3}(?:(`{3,})[^`]*$|(~{3,}))/;
const HEADING = /^ {0,3}#{1,6} +((?:[ #]*[^ #]+)*)/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)/;
/** Matches the line between a table's header and its rows. */
const DELIMITER = /^ {0,3}\|?( *:?-+:? *\|)* *(:?-+:? *)?$/;

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
  const fence = matchFence(first);
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
  const endsText = (line: string) => line.trim() === "" || startsBlock(line);
  return isTable(first, lines[start + 1])
    ? findLine((line, at) => at > start + 1 && endsText(line))
    : findLine((line, at) => endsText(line) || isTable(line, lines[at + 1]));
}

/** Returns the marks that open a code block. */
function matchFence(text: string): string | undefined {
  const match = FENCE.exec(text);
  return match?.[1] ?? match?.[2];
}

/** Whether these two lines are a table's header and the line below it. */
function isTable(header: string, delimiter = ""): boolean {
  return (
    header.includes("|") &&
    delimiter.includes("|") &&
    DELIMITER.test(delimiter) &&
    splitCells(header).length === splitCells(delimiter).length
  );
}

function splitCells(row: string): string[] {
  const cells = row
    .trim()
    .replace(/^\|/, "")
    .split(/(?<!\\)\|/);
  return (cells.length > 1 && !cells.at(-1)?.trim() ? cells.slice(0, -1) : cells).map((cell) =>
    cell.trim().replaceAll("\\|", "|"),
  );
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
function parseBlock(source: string, base: string | undefined, depth: number): Tree {
  const lines = source.split("\n");
  const fence = matchFence(lines[0] as string);
  if (fence) {
    const isClosed = lines.length > 1 && lines.at(-1)?.trim().startsWith(fence);
    return ["pre", [["code", [lines.slice(1, isClosed ? -1 : undefined).join("\n")]]]];
  }
  const heading = HEADING.exec(source)?.[1];
  if (heading !== undefined) {
    return ["h3", parseInline(heading, base)];
  }
  if (RULE.test(source)) {
    return ["hr", []];
  }
  if (QUOTE.test(source)) {
    return ["blockquote", parseBlocks(source.replace(new RegExp(QUOTE, "gm"), ""), base, depth + 1)];
  }
  const item = ITEM.exec(source);
  if (item) {
    return parseList(lines, item, base, depth);
  }
  return isTable(lines[0] as string, lines[1]) ? parseTable(lines, base) : ["p", parseInline(source, base)];
}

/**
 * Parses a text, or the content of a quote or list item at this depth. Relative links are relative to `base`, an absolute URL. Without
 * `base`, they are text.
 */
export function parseBlocks(source: string, base?: string, depth = 0): Tree[] {
  return depth > MAX_DEPTH ? [["p", [source]]] : splitBlocks(source).map((block) => parseBlock(block, base, depth));
}

function parseList(
  lines: readonly string[],
  [, indent = "", marker = ""]: RegExpExecArray,
  base: string | undefined,
  depth: number,
): Tree {
  const items: string[][] = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (item && (item[1] as string).length <= indent.length + 1) {
      items.push([line.slice(item[0].length)]);
    } else {
      items.at(-1)?.push(line.replace(/^ {1,4}/, ""));
    }
  }
  const children = items.map((itemLines): Tree => {
    const blocks = parseBlocks(itemLines.join("\n"), base, depth + 1);
    // The item's first paragraph needs no <p>.
    return ["li", blocks.flatMap((tree, at) => (at === 0 && tree[0] === "p" ? tree[1] : [tree]))];
  });
  const [start] = /\d+/.exec(marker) ?? [];
  return start ? ["ol", children, start] : ["ul", children];
}

/** Leaves out the cells that have no header. Rows may be shorter than the header. */
function parseTable([header = "", delimiter = "", ...rows]: readonly string[], base: string | undefined): Tree {
  const aligns = splitCells(delimiter).map((cell) =>
    cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "right") : cell.startsWith(":") ? "left" : "",
  );
  const parseRow = (row: string, tag: "th" | "td"): Tree => [
    "tr",
    splitCells(row)
      .slice(0, aligns.length)
      .map((cell, at) => [tag, parseInline(cell, base), aligns[at] ?? ""]),
  ];
  const head = parseRow(header, "th");
  const body = rows.map((row) => parseRow(row, "td"));
  const label = head[1].map((cell) => toText([cell])).join(", ");
  return ["div", [["table", [["thead", [head]], ...(body.length > 0 ? [["tbody", body] as const] : [])]]], label];
}

function toText(nodes: readonly (Tree | string)[]): string {
  return nodes.map((node) => (typeof node === "string" ? node : toText(node[1]))).join("");
}

/**
 * Matches, in this order: an escape; a run of backticks; a run of emphasis marks; `]` with the URL of a link, in angle brackets or not; an
 * opening bracket; an address in angle brackets; a line break; an HTML entity; the start of a bare address; other text.
 */
const TOKEN =
  /\\([!-/:-@[-`{-~\n])|(`+)|([*_])\3{0,2}|~~|\](?:\([ \n]?(?:<([^<>\n]+)>|([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*))(?:[ \n]{1,2}(?:"[^"]*"|'[^']*'|\([^()]*\)))?[ \n]?\))?|!?\[|<((?:https?|mailto|tel):[^\s<>]+|[^\s<>@]+@[^\s<>@]+)>|(<br *\/?> *\n?)|&(#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,6});|((?<![a-z\d])(?:https?:\/\/|www\.))|[^\\`*_~[\]!<&hw]+|./gis;

/** The entities that models use most. */
const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  euro: "€",
  copy: "©",
};

/** Parses the emphasis, code and links in a block's text. See parseBlocks for `base`. */
export function parseInline(source: string, base?: string): (Tree | string)[] {
  const nodes: (Tree | string)[] = [];
  /** The last opening marks, each with its position in `nodes`. */
  let opened: (readonly [mark: string, at: number])[] = [];
  const open = (mark: string) => {
    opened = [...opened, [mark, nodes.length] as const].slice(-MAX_DEPTH);
    nodes.push(mark);
  };
  /** Removes an opening mark, the marks after it, and all nodes after it. Returns these nodes. */
  const take = (index: number) => {
    const [, at] = opened[index] as (typeof opened)[number];
    opened = opened.slice(0, index);
    return joinTexts(nodes.splice(at).slice(1));
  };
  const findRun = indexRuns(source);
  for (let at = 0; at < source.length; ) {
    TOKEN.lastIndex = at;
    const before = source[at - 1] ?? "";
    const [token, escaped, ticks, mark, angledUrl, plainUrl, address, lineBreak, entity, scheme] = TOKEN.exec(
      source,
    ) as RegExpExecArray;
    at += token.length;
    const after = source[at] ?? "";
    if (ticks) {
      const end = findRun(ticks.length, at);
      nodes.push(end < 0 ? ticks : ["code", [source.slice(at, end).replace(/^ (.*) $/s, "$1")]]);
      at = end < 0 ? at : end + ticks.length;
    } else if (mark || token === "~~") {
      // An underscore opens nothing after a word and closes nothing before a word, because it can be part of a name.
      const isName = (beside: string) => /_[_\p{L}\p{M}\p{N}]/u.test(token[0] + beside);
      // Closes opened marks, the innermost first. A mark after a space closes none.
      let rest = token;
      for (let index = opened.length - 1; index >= 0; index--) {
        const [kind] = opened[index] ?? ["["];
        if (before.trim() && !isName(after) && rest.startsWith(kind)) {
          nodes.push([kind === "~~" ? "del" : kind[1] ? "strong" : "em", take(index)]);
          rest = rest.slice(kind.length);
        }
      }
      if (rest && after !== token[0] && after.trim() && !isName(before)) {
        // Three marks open <em> first, and <strong> inside it.
        (rest[2] ? [mark as string, `${mark}${mark}`] : [rest]).forEach(open);
      } else {
        nodes.push(rest);
      }
    } else if (token.endsWith("[") && !escaped) {
      open(token);
    } else if (token[0] === "]") {
      const index = opened.findLastIndex(([kind]) => kind.endsWith("["));
      const url = angledUrl ?? plainUrl;
      const href = url && resolveLink(url, base);
      const isImage = opened[index]?.[0] === "![";
      if (index >= 0 && url && (isImage || (href && before !== "["))) {
        // An image becomes a link with the image's alternative text, so that the browser fetches nothing.
        const content = removeLinks(take(index));
        const text = content.length > 0 ? content : [url];
        nodes.push(...(href ? [["a", text, href] as const] : text));
      } else {
        opened = index < 0 ? opened : opened.slice(0, index);
        nodes.push("]");
        at += 1 - token.length;
      }
    } else if (scheme) {
      const end = findAddressEnd(source, at);
      const text = source.slice(at - token.length, end);
      const href = end > at && resolveLink(token[0]?.toLowerCase() === "w" ? `https://${text}` : text);
      at = end;
      nodes.push(href ? ["a", [text], href] : text);
    } else if (address) {
      const href = resolveLink(address.includes(":") ? address : `mailto:${address}`);
      nodes.push(href ? ["a", [address], href] : token);
    } else {
      nodes.push(lineBreak ? "\n" : entity ? (decodeEntity(entity) ?? token) : (escaped ?? token));
    }
  }
  return linkEmails(joinTexts(nodes));
}

/**
 * Returns a function that finds the first run of exactly `length` backticks at `start` or later, or returns -1. Together, calls with a
 * growing `start` take time proportional to the source's length.
 */
function indexRuns(source: string): (length: number, start: number) => number {
  /** The positions of the runs by their length, the last position first. */
  const positions = new Map<number, number[]>();
  for (const { 0: run, index } of [...source.matchAll(/`+/g)].reverse()) {
    positions.set(run.length, positions.get(run.length) ?? []);
    positions.get(run.length)?.push(index);
  }
  return (length, start) => {
    const indexes = positions.get(length) ?? [];
    while ((indexes.at(-1) ?? start) < start) {
      indexes.pop();
    }
    return indexes.at(-1) ?? -1;
  };
}

/** Returns the absolute URL of a link. Returns undefined for URLs that could run code, such as `javascript:`. */
function resolveLink(url: string, base?: string): string | undefined {
  try {
    const { protocol, href } = new URL(url, base);
    return /^(https?|mailto|tel):$/.test(protocol) ? href : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces links by their texts, because a link cannot contain links. */
function removeLinks(nodes: readonly (Tree | string)[]): (Tree | string)[] {
  return joinTexts(
    nodes.flatMap((node) => {
      const content = typeof node === "string" ? [] : removeLinks(node[1]);
      return typeof node === "string" ? [node] : node[0] === "a" ? content : [[node[0], content] as const];
    }),
  );
}

function decodeEntity(entity: string): string | undefined {
  if (entity[0] !== "#") {
    return ENTITIES[entity];
  }
  const code = Number(entity.replace(/^#x/i, "0x").replace("#", ""));
  // Not NUL, half of a surrogate pair, or a number above Unicode's last.
  return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : undefined;
}

/**
 * Matches the characters of a bare address up to a bracket. Punctuation and symbols outside ASCII end the address. So do Chinese, Japanese,
 * Korean and Thai characters after an ASCII letter or digit, because these languages put no space between an address and the text after it.
 */
const ADDRESS_PART =
  /(?:(?!~~)[^\s"()*<>[\\\]`\x80-\u{10ffff}]|(?!(?<=[a-zA-Z\d])[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])(?=[^\0-\x7f])[\p{L}\p{M}\p{N}])*/uy;

/** Returns where the bare address ends whose scheme ends at `start`: before a closing bracket that it did not open, and before its last punctuation. */
function findAddressEnd(source: string, start: number): number {
  const closing: string[] = [];
  let end = start;
  for (;;) {
    ADDRESS_PART.lastIndex = end;
    end += ADDRESS_PART.exec(source)?.[0].length ?? 0;
    const bracket = source[end] ?? "";
    if (bracket === "(" || bracket === "[") {
      closing.push(bracket === "(" ? ")" : "]");
    } else if (!bracket || closing.pop() !== bracket) {
      break;
    }
    end++;
  }
  while (end > start && /[.,;:!?'_~|&([]/.test(source[end - 1] as string)) {
    end--;
  }
  return end;
}

/** Matches an email address. The bounds and the condition before it keep the time linear. */
const EMAIL = /((?<![\w.+-])[\w.+-]{1,64}@[a-z\d-]{1,63}(?:\.[a-z\d-]{1,63}){1,9})/i;

/** Makes email addresses links, except in links and code. */
function linkEmails(nodes: readonly (Tree | string)[]): (Tree | string)[] {
  return nodes.flatMap((node): (Tree | string)[] => {
    if (typeof node === "string") {
      // Each second part is an address.
      const parts = node
        .split(EMAIL)
        .map((part, at): Tree | string => (at % 2 ? ["a", [part], `mailto:${part}`] : part));
      return parts.filter(Boolean);
    }
    const [tag, children] = node;
    return [tag === "a" || tag === "code" ? node : [tag, linkEmails(children)]];
  });
}

/** Joins adjacent texts and removes empty ones. */
function joinTexts(nodes: readonly (Tree | string)[]): (Tree | string)[] {
  const joined: (Tree | string)[] = [];
  let text = "";
  for (const node of nodes) {
    if (typeof node === "string") {
      text += node;
    } else {
      joined.push(text, node);
      text = "";
    }
  }
  return [...joined, text].filter(Boolean);
}
