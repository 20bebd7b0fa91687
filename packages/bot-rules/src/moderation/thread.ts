import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import { LRUCache } from "lru-cache";
import { type Candidate, requireAcceptable } from "./acceptance.ts";
import { type PatternRefusalCode, PatternRefused } from "./pattern.ts";
import { PatternSet } from "./pattern-set.ts";

/** A text to match. `patterns` is a JSON array of them: the key of their compiled set, and cheap to send. */
export type MatchJob = { kind: "match"; patterns: string; text: string; from: number; isWhole: boolean };
export type CheckJob = Candidate & { kind: "check" };
export type Job = MatchJob | CheckJob;

export type Match = {
  /** Index of the first pattern that matches; -1 if none does. */
  hit: number;
  /** Characters (UTF-16 units) that a match of any of the patterns has at most. */
  longest: number;
};

export type Answer =
  /** Sent once, when the thread can take its first job. */
  | { kind: "ready" }
  /** `compiledSize` is the size of the patterns if they had to be compiled for this job. */
  | { kind: "matched"; match: Match; compiledSize: number | undefined }
  | { kind: "checked"; refusal: Refusal | undefined }
  /** A stored pattern cannot be compiled. */
  | { kind: "unusable"; refusal: Refusal };

/** An answer, and the milliseconds that the thread worked for it. */
export type Message = { answer: Answer; workMs: number };

export type Refusal = { code: PatternRefusalCode; message: string };

/** Compiled sets, by their patterns; the least recently used go first. */
const MAX_SETS_BYTES = 16 * 1024 * 1024;

const sets = new LRUCache<string, PatternSet>({ maxSize: MAX_SETS_BYTES, sizeCalculation: ({ bytes }) => bytes });

function match({ patterns, text, from, isWhole }: MatchJob): Answer {
  const known = sets.get(patterns);
  const set = known ?? new PatternSet(JSON.parse(patterns) as string[]);
  if (known === undefined) sets.set(patterns, set);
  const { longest, size } = set;
  const hit = set.firstMatch(text, from, isWhole);
  return { kind: "matched", match: { hit, longest }, compiledSize: known === undefined ? size : undefined };
}

function answer(job: Job): Answer {
  try {
    if (job.kind === "match") return match(job);
    requireAcceptable(job);
    return { kind: "checked", refusal: undefined };
  } catch (error) {
    if (!(error instanceof PatternRefused)) throw error;
    const { code, message } = error;
    return { kind: job.kind === "match" ? "unusable" : "checked", refusal: { code, message } };
  }
}

// On Linux a priority belongs to a thread. The service's own thread gets the processor first.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

// An error that is not caught ends the thread: its job fails, and the next one gets a new thread.
parentPort?.on("message", (job: Job) => {
  const startedAt = performance.now();
  const answered = answer(job);
  send({ answer: answered, workMs: performance.now() - startedAt });
});
send({ answer: { kind: "ready" }, workMs: 0 });

function send(message: Message): void {
  parentPort?.postMessage(message);
}
