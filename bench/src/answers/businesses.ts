import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/** `tune` may be looked at while the built-in model is changed; `test` decides. A business belongs to one half with all its questions. */
export type Half = "tune" | "test";

/** A part of the sentence that answers, or several parts. null if the documents do not answer the question. */
export type Answer = string | string[] | null;

export type AnswerQuestion = {
  question: string;
  /** What a right reply contains, or what it contains on each day of the week (UTC) on which the question is asked. */
  answer: Answer | Record<string, Answer>;
  /** The visitor's question before this one. */
  after?: string;
};

export type Business = {
  name: string;
  half: Half;
  /** ISO 639-1. */
  language: string;
  documents: { name: string; format: string; text: string }[];
  questions: AnswerQuestion[];
};

const ROOT = fileURLToPath(new URL("../../answers/", import.meta.url));

/** Reads invented businesses, by default those of bench/answers: a folder each, with documents and `questions.json`. */
export function readBusinesses(root = ROOT): Business[] {
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.map(({ name }) => {
    const files = readdirSync(`${root}${name}`).filter((file) => file !== "questions.json");
    const documents = files.map((file) => ({
      name: file,
      format: extname(file).slice(1),
      text: readFileSync(`${root}${name}/${file}`, "utf8"),
    }));
    return { name, documents, ...JSON.parse(readFileSync(`${root}${name}/questions.json`, "utf8")) };
  });
}
