import { spawn } from "node:child_process";
import { constants, setPriority } from "node:os";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { invalid } from "@parley/service-kit";
import type { Format } from "./document.ts";
import { CANNOT_READ, parsePiece } from "./document-piece.ts";
import type { IndexedDocument, IndexedPiece } from "./index-document.ts";

const MiB = 1024 * 1024;
/** The reading process has a low priority. When the machine is busy, it takes longer than its processor time. */
const MAX_CPU_MS = 20_000;
const TIMEOUT_MS = 60_000;
/** Resident memory of the reading process. With the service's own it must stay below 80 % of the chart's limit of 512 MiB. */
const MAX_MEMORY_BYTES = 192 * MiB;
/** Without it, V8 lets garbage grow until the watchdog kills the process. */
const MAX_HEAP_MIB = 64;
const MAX_LINE_BYTES = MiB;
const MAX_RESULT_BYTES = 32 * MiB;
const OUT_OF_TIME: NodeJS.Signals = "SIGXCPU";
/** How the watchdog and the kernel (SIGKILL) and V8 (the others) end a process for its memory. */
const OUT_OF_MEMORY: readonly NodeJS.Signals[] = ["SIGKILL", "SIGABRT", "SIGTRAP"];
const SPLIT = "split it into smaller documents, or send its text as txt";
const BROKEN = {
  text: "it is nested too deeply; send its text as txt",
  pdf: "it is not a whole PDF, is locked with a password, or has more than 2,000 pages; repair, unlock or split it",
};

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
export const READER_FLAGS = [
  "--experimental-strip-types",
  `--max-old-space-size=${MAX_HEAP_MIB}`,
  "--max-semi-space-size=2",
  "--disallow-code-generation-from-strings",
  // The process may read the code that it runs, and write no file, start no process and load no native code.
  "--permission",
  "--allow-worker",
  `--allow-fs-read=${path("../..")}`,
  `--allow-fs-read=${path("../../../../node_modules")}`,
];
const CHILD = path("./read-document.child.ts");

/** A document as it was sent or fetched; text is UTF-8. */
export type RawDocument = { format: Format; content: Uint8Array };

/** A document with its first words, by which its language is detected. */
export type ReadDocument = IndexedDocument & { beginning: string[] };

export type ReadOptions = {
  /** Aborted when the caller cancels. */
  signal: AbortSignal;
  /** Processor time of the reading process. */
  maxCpuMs?: number;
};

type Ending = { code: number | null; killedBy: NodeJS.Signals | null };

/**
 * Reads a document in a process of its own. The process is killed when it has used 20 s of processor time, after 60 s, when it
 * holds more than 192 MiB, when the signal aborts, and when this process ends. Throws invalid_argument for a document that cannot be read within these limits.
 */
export async function readDocument(raw: RawDocument, options: ReadOptions): Promise<ReadDocument> {
  const { signal, maxCpuMs = MAX_CPU_MS } = options;
  const late = AbortSignal.timeout(TIMEOUT_MS);
  const child = start(raw, maxCpuMs, AbortSignal.any([signal, late]));
  const closed = new Promise<Ending>((resolve) => {
    child.once("close", (code, killedBy) => resolve({ code, killedBy }));
  });
  const document = await collect(child.stdout).catch(async (error: unknown) => {
    child.kill("SIGKILL");
    await closed;
    throw error;
  });
  // Only now its memory is free for the next document.
  const ending = await closed;
  signal.throwIfAborted();
  if (document !== undefined) return document;
  if (late.aborted) throw unreadable(`it takes more than ${TIMEOUT_MS / 1_000} s; ${SPLIT}`);
  if (ending.killedBy === OUT_OF_TIME)
    throw unreadable(`it takes more than ${maxCpuMs / 1_000} s of processor time; ${SPLIT}`);
  throw failureOf(raw.format, ending);
}

function start({ format, content }: RawDocument, maxCpuMs: number, signal: AbortSignal) {
  const args = [format, content.length, process.pid, MAX_MEMORY_BYTES, maxCpuMs].map(String);
  const child = spawn(process.execPath, [...READER_FLAGS, CHILD, ...args], {
    // This process's environment holds passwords.
    env: {},
    stdio: ["pipe", "pipe", "ignore"],
    signal,
    killSignal: "SIGKILL",
  });
  // Visitors' turns get the processor first.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  // How the process ended tells more than these: it is killed, or it does not read its input to the end.
  child.on("error", () => undefined);
  child.stdin.on("error", () => undefined);
  child.stdin.end(content);
  return child;
}

/** Collects what the reading process sends; undefined if its output ends before the document is complete. */
async function collect(output: Readable): Promise<ReadDocument | undefined> {
  const lines: Buffer[] = [];
  let [bytes, chunks, characters] = [0, 0, 0];
  for await (const line of linesOf(output)) {
    bytes += line.length;
    if (bytes > MAX_RESULT_BYTES) throw tooMuchText();
    const piece = parsePiece(line);
    if ("beginning" in piece) return { ...piece, chunks, characters, pieces: parsed(lines) };
    lines.push(line);
    if ("words" in piece) continue;
    chunks += piece.chunks.length;
    characters += piece.chunks.reduce((sum, { text }) => sum + text.length, 0);
  }
  return undefined;
}

// Parsed again when they are stored: as objects, all pieces would take several times the memory.
function* parsed(lines: readonly Buffer[]): Generator<IndexedPiece> {
  for (const line of lines) {
    const piece = parsePiece(line);
    if (!("beginning" in piece)) yield piece;
  }
}

async function* linesOf(output: Readable): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const data of output as AsyncIterable<Buffer>) {
    let rest = data;
    for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n")) {
      yield Buffer.concat([...parts, rest.subarray(0, end)]);
      [parts, length] = [[], 0];
      rest = rest.subarray(end + 1);
    }
    parts.push(rest);
    length += rest.length;
    if (length > MAX_LINE_BYTES) throw tooMuchText();
  }
}

function failureOf(format: Format, { code, killedBy }: Ending): Error {
  if (code === CANNOT_READ) return unreadable(BROKEN[format === "pdf" ? "pdf" : "text"]);
  // The reader itself is broken, not the document.
  if (killedBy === null) return new Error(`the reading process ended with code ${code}`);
  if (OUT_OF_MEMORY.includes(killedBy))
    return unreadable(`it needs more than ${MAX_MEMORY_BYTES / MiB} MiB of memory; ${SPLIT}`);
  return unreadable(`its reader crashed (${killedBy}); ${SPLIT}`);
}

function tooMuchText(): Error {
  return unreadable(`it holds too much text; ${SPLIT}`);
}

function unreadable(reason: string): Error {
  return invalid(`content cannot be read: ${reason}`, "unreadable_document");
}
