import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export type Document = {
  /** The path of a page in the repository, such as `docs/api.md`; `sample shop` and the like for a document about the sample shop. */
  name: string;
  content: Uint8Array<ArrayBuffer>;
  /** Hexadecimal SHA-256 of the content. */
  digest: string;
};

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The pages that a newcomer asks about. The passages of further pages would displace passages that answer a newcomer's question. */
export const PAGES = ["README.md", ...["faq", "console", "embed"].map((name) => `docs/${name}.md`)];

/** Reads the README and the pages of docs/ that a newcomer asks about. */
export function readDocumentation(root = ROOT): Promise<Document[]> {
  return Promise.all(PAGES.map((name) => readDocument(root, name)));
}

async function readDocument(root: string, name: string): Promise<Document> {
  return toDocument(name, new Uint8Array(await readFile(join(root, name))));
}

export function toDocument(name: string, content: Document["content"]): Document {
  return { name, content, digest: createHash("sha256").update(content).digest("hex") };
}
