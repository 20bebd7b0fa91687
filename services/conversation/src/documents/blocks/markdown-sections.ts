const SECTION_CHARACTERS = 64 * 1024;

const LINE = /[^\n]*(?:\n|$)/g;
// Backticks open inline code, not a fence, if other backticks follow on the same line.
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;
const HEADING_OR_ITEM = /^(?:#{1,6}|[-*+]|\d{1,9}[.)])[ \t]/;
const DELIMITER_ROW = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:[ \t]*\S.*$/gm;

/**
 * Splits Markdown into sections of about SECTION_CHARACTERS, because the parser's tokens need up to 50 times the memory of their text. A
 * section begins with a block, list item or table row. To render as in the whole document, it repeats the head of a table that it continues,
 * and all link definitions unless they are longer than a section.
 */
export function* splitMarkdown(markdown: string): Generator<string> {
  const linkDefinitions = (markdown.match(DEFINITION) ?? []).join("\n");
  const sectionSuffix = linkDefinitions.length <= SECTION_CHARACTERS ? `\n\n${linkDefinitions}` : "";
  let section = "";
  let openFence = "";
  let tableHead = "";
  let previous = "";
  for (const [line] of markdown.matchAll(LINE)) {
    const [, fenceMarker = ""] = FENCE.exec(line) ?? [];
    const isHeadingOrItem = HEADING_OR_ITEM.test(line);
    if (isHeadingOrItem || line.trim() === "") tableHead = "";
    const canStartSection = isHeadingOrItem || tableHead !== "" || (previous.trim() === "" && /^\S/.test(line));
    if (section.length >= SECTION_CHARACTERS && openFence === "" && canStartSection) {
      yield section + sectionSuffix;
      section = tableHead;
    }
    section += line;
    if (openFence === "") openFence = fenceMarker;
    else if (fenceMarker.startsWith(openFence) && line.trim() === fenceMarker) openFence = "";
    if (openFence === "" && line.includes("|") && DELIMITER_ROW.test(line.trimEnd())) tableHead = previous + line;
    previous = line;
  }
  if (section !== "") yield section + sectionSuffix;
}
