import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** The half of the set to which a question belongs. */
export type Split = "dev" | "holdout";
/** Each of `quotations` is quoted from the documents and answers the question. The document `file` contains at least one of the quotations. */
export type Question = { id: string; split: Split; kind: string; question: string; file: string; quotations: string[] };
export type UnanswerableQuestion = { id: string; split: Split; question: string };

/** The relevance set; bench/relevance/README.md describes its files. */
export type RelevanceSet = {
  documents: { name: string; text: string }[];
  questions: Question[];
  unanswerable: UnanswerableQuestion[];
  /** Unanswerable questions about subjects that the documents mention. */
  nearMisses: UnanswerableQuestion[];
};

const FOLDERS = ["Guides", "Reference"];

export function readRelevanceSet(): RelevanceSet {
  const fastifyDocs = join(dirname(createRequire(import.meta.url).resolve("fastify")), "docs");
  const documents = FOLDERS.flatMap((folder) =>
    readdirSync(join(fastifyDocs, folder))
      .filter((file) => file.endsWith(".md"))
      .map((file) => ({ name: `${folder}/${file}`, text: readFileSync(join(fastifyDocs, folder, file), "utf8") })),
  );
  const read = <T>(name: string) =>
    JSON.parse(readFileSync(new URL(`../../relevance/${name}.json`, import.meta.url), "utf8")) as T[];
  return {
    documents,
    questions: read("questions"),
    unanswerable: read("unanswerable"),
    nearMisses: read("near-misses"),
  };
}

/** Returns a text without Markdown markup, on one line and in lower case. Quotations are compared in this form. */
export function plainText(text: string): string {
  return text
    .replace(/^\s*>\s?/gm, "")
    .replace(/!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, "$1")
    .replace(/<[^>\n]+>/g, "")
    .replace(/[`*]/g, "")
    .replace(/(^|\W)_([^_\n]+)_(?=\W)/g, "$1$2")
    .replace(/^\s*[-+•]\s/gm, "")
    .replace(/\s+/g, " ")
    .toLowerCase();
}
