import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemCode } from "./errors.ts";

export type Document = {
  /** The path of a page in the repository, such as `docs/api.md`; `sample shop` for the document about the sample shop. */
  name: string;
  content: Uint8Array<ArrayBuffer>;
  /** Hexadecimal SHA-256 of the content. */
  digest: string;
};

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Pages for developers. In the demo bot's searches, their passages would displace passages that answer a question better. */
const EXCLUDED_PAGES = ["contract-coverage.md", "dependencies.md"];

/** Reads the README and the pages of docs/, without its subfolders. */
export async function readDocumentation(root = ROOT): Promise<Document[]> {
  const pages = (await listDirectory(join(root, "docs")))
    .filter((name) => name.endsWith(".md") && !EXCLUDED_PAGES.includes(name))
    .map((name) => `docs/${name}`);
  return Promise.all(["README.md", ...pages].map((name) => readDocument(root, name)));
}

async function readDocument(root: string, name: string): Promise<Document> {
  const content = new Uint8Array(await readFile(join(root, name)));
  return { name, content, digest: createHash("sha256").update(content).digest("hex") };
}

async function listDirectory(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}
