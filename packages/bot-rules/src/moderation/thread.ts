import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import { LRUCache } from "lru-cache";
import { type PatternCandidate, requireAcceptable } from "./acceptance.ts";
import { type PatternRefusalCode, PatternRefusedError } from "./pattern.ts";
import { PatternSet } from "./pattern-set.ts";
import { readThreadCpuTimeMs } from "./thread-cpu-time.ts";

/**
 * Finds the first pattern that matches. `patterns` is the JSON of an array, because a string is cheap to send and is the cache key of the
 * compiled set. For `searchFrom` and `isTextComplete` see PatternSet.findFirstMatch.
 */
export type MatchJob = { kind: "match"; patterns: string; text: string; searchFrom: number; isTextComplete: boolean };
/** Finds all patterns that match a complete text. */
export type MatchAllJob = { kind: "matchAll"; patterns: string; text: string };
export type CheckJob = PatternCandidate & { kind: "check" };
export type Job = MatchJob | MatchAllJob | CheckJob;

export type Match = {
  /** Index of the first pattern that matches; -1 if none does. */
  index: number;
  /** Length, in UTF-16 units, of the longest possible match of any pattern; Infinity if there is no bound. */
  maxMatchLength: number;
};

export type Answer =
  /** `compiledSize` is PatternSet.size, in instructions, if this job compiled the patterns; undefined if they were cached. */
  | { kind: "matched"; match: Match; compiledSize: number | undefined }
  /** The indexes of the patterns that match. */
  | { kind: "matchedAll"; indexes: readonly number[] }
  | { kind: "checked"; refusal: Refusal | undefined }
  /** A pattern of a match or matchAll job cannot be compiled. */
  | { kind: "unusable"; refusal: Refusal };

export type JobResult = { kind: "result"; answer: Answer; cpuTimeMs: number };

/** `ready` is sent once, before the first job. */
export type ThreadMessage = { kind: "ready" } | JobResult;

export type Refusal = { code: PatternRefusalCode; message: string };

const MAX_SETS_BYTES = 16 * 1024 * 1024;

/** Keyed by the JSON of the patterns. */
const compiledSets = new LRUCache<string, PatternSet>({
  maxSize: MAX_SETS_BYTES,
  sizeCalculation: ({ bytes }) => bytes,
});

function match({ patterns, text, searchFrom, isTextComplete }: MatchJob): Answer {
  const cached = compiledSets.get(patterns);
  const set = cached ?? new PatternSet(JSON.parse(patterns) as string[]);
  if (cached === undefined) compiledSets.set(patterns, set);
  const { maxMatchLength, size } = set;
  const index = set.findFirstMatch(text, searchFrom, isTextComplete);
  return { kind: "matched", match: { index, maxMatchLength }, compiledSize: cached === undefined ? size : undefined };
}

/** Does not cache the set: its patterns may include an unsaved draft, and caching it could evict the set of stored patterns. */
function matchAll({ patterns, text }: MatchAllJob): Answer {
  const set = compiledSets.get(patterns) ?? new PatternSet(JSON.parse(patterns) as string[]);
  return { kind: "matchedAll", indexes: set.findAllMatches(text) };
}

function runJob(job: Job): Answer {
  try {
    if (job.kind === "match") return match(job);
    if (job.kind === "matchAll") return matchAll(job);
    requireAcceptable(job);
    return { kind: "checked", refusal: undefined };
  } catch (error) {
    if (!(error instanceof PatternRefusedError)) throw error;
    const { code, message } = error;
    return { kind: job.kind === "check" ? "checked" : "unusable", refusal: { code, message } };
  }
}

// The service's main thread has priority. On Linux the call affects this thread only; elsewhere it would affect the whole process.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

// An uncaught error ends the thread, and PatternThreadPool then refuses the job.
parentPort?.on("message", (job: Job) => {
  const cpuTimeBeforeMs = readThreadCpuTimeMs();
  const answer = runJob(job);
  send({ kind: "result", answer, cpuTimeMs: readThreadCpuTimeMs() - cpuTimeBeforeMs });
});
send({ kind: "ready" });

function send(message: ThreadMessage): void {
  parentPort?.postMessage(message);
}
