import { withoutNul } from "../../text.ts";
import type { Block } from "../blocks/block.ts";
import { UnreadableError } from "../reader-process/unreadable-error.ts";
import { DocxBlocks } from "./docx-blocks.ts";
import { DocxStyles } from "./docx-styles.ts";
import { OfficePackage } from "./office-package.ts";

/** Splits a DOCX file into blocks of text. Leaves out comments, deleted and hidden text, and the headers and footers of pages. */
export async function readDocx(content: Uint8Array): Promise<Block[]> {
  const file = await OfficePackage.open(content);
  const main = await file.findMainPart();
  const relationships = await file.readRelationships(main);
  const pathOf = (type: string) => relationships.find((each) => each.type.endsWith(type))?.path ?? "";
  const styles = new DocxStyles();
  await styles.read(file, pathOf("/styles"));
  const notes = new DocxBlocks(styles);
  for (const type of ["/footnotes", "/endnotes"]) await file.readXml(pathOf(type), notes);
  const document = new DocxBlocks(styles, notes.notes);
  await file.readXml(main, document);
  if (!document.isDocument) throw new UnreadableError("broken_office");
  return document.blocks.map((block) => ({
    headings: block.headings.map(withoutNul),
    text: withoutNul(block.text),
  }));
}
