import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "./commands.ts";

/** Returns a section's code blocks in a language. `page` is a file in docs/install; `heading` "" selects the text before the first section. */
export async function readBlocks(page: string, heading: string, language: string): Promise<string[]> {
  const text = await readFile(join(ROOT, "docs/install", page), "utf8");
  const sections = text.split("\n## ");
  const section = heading === "" ? sections[0] : sections.find((each) => each.startsWith(`${heading}\n`));
  const blocks = (section ?? "").matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"));
  const contents = Array.from(blocks, ([, content = ""]) => content);
  if (contents.length === 0) throw new Error(`${page}, ${heading}: no ${language} block`);
  return contents;
}

/** Returns the first block of `readBlocks`. */
export async function readBlock(page: string, heading: string, language: string): Promise<string> {
  const [block = ""] = await readBlocks(page, heading, language);
  return block;
}
