import { type ChildProcessByStdio, spawn } from "node:child_process";
import { constants, setPriority } from "node:os";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { isTextFormat } from "@parley/rpc/documents";
import { invalidArgument } from "@parley/service-kit";
import { type Format, UNREADABLE_DOCUMENT } from "../document.ts";
import type { IndexedDocument, IndexedPiece } from "../index-document.ts";
import {
  type DocumentHeader,
  EXIT_CODE_UNREADABLE,
  type PageFacts,
  type PageOptions,
  parseMessage,
} from "./reader-message.ts";
import { UNREADABLE_REASONS } from "./unreadable-error.ts";

const MiB = 1024 * 1024;
const MAX_CPU_MS = 20_000;
/** Longer than MAX_CPU_MS, because the reading process has a low priority and waits for the CPU when the machine is busy. */
const TIMEOUT_MS = 60_000;
/** Resident memory of the reading process. Together with the service's memory it must stay below 80 % of the chart's limit of 512 MiB. */
const MAX_MEMORY_BYTES = 192 * MiB;
/** Makes V8 collect garbage before the process exceeds MAX_MEMORY_BYTES. */
const MAX_HEAP_MIB = 64;
const MAX_LINE_BYTES = MiB;
const MAX_RESULT_BYTES = 32 * MiB;
const MAX_SMALL_TEXT_BYTES = 256 * 1024;
/** How long a process waits for the next small text. */
const MAX_IDLE_MS = 2_000;
const CPU_LIMIT_SIGNAL: NodeJS.Signals = "SIGXCPU";
/** Signals that end a process that uses too much memory: SIGKILL from its watchdog thread or the kernel, the others from V8. */
const MEMORY_LIMIT_SIGNALS: readonly NodeJS.Signals[] = ["SIGKILL", "SIGABRT", "SIGTRAP"];
const SPLIT_ADVICE = "split it into smaller documents, or send its text as txt";
/** The reason if the reading process reports none. */
const NESTED_TEXT_REASON = "it is nested too deeply; send its text as txt";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
export const READER_FLAGS = [
  "--experimental-strip-types",
  `--max-old-space-size=${MAX_HEAP_MIB}`,
  "--max-semi-space-size=2",
  "--disallow-code-generation-from-strings",
  // With these permissions the process can read its own code, but no other file. It cannot write, start a process or load native code.
  "--permission",
  "--allow-worker",
  `--allow-fs-read=${path("../../..")}`,
  `--allow-fs-read=${path("../../../../../node_modules")}`,
];
const READER_SCRIPT = path("./read-document.child.ts");

/** The unparsed content of a document. Text is UTF-8. */
export type RawDocument = { format: Format; content: Uint8Array };

/** A document with its first words, from which its language is detected. */
export type ParsedDocument = IndexedDocument & { firstWords: string[]; links: ReadLinks; page: PageFacts | undefined };

/** The links of a page or sitemap. */
export type ReadLinks = { urls: string[]; isIndex: boolean };

export type ReadOptions = {
  /** Aborted when the caller cancels. */
  signal: AbortSignal;
  maxCpuMs?: number;
  /** If it is set, one process may read several small texts of the workspace, because a process takes longer to start than to read such a text. */
  workspaceId?: string;
  /** Set for a document of a crawled site, of which only the main part is read. */
  page?: PageOptions;
};

/** Content for the reading process. */
type ReaderInput = { format: DocumentHeader["format"]; content: Uint8Array };

type ProcessExit = { code: number | null; killedBy: NodeJS.Signals | null };

/** A reading process. */
type Reader = {
  child: ChildProcessByStdio<Writable, Readable, null>;
  /** The lines of its output. */
  lines: AsyncGenerator<Buffer>;
  exited: Promise<ProcessExit>;
  /** Whether it has read another document before. */
  isUsed: boolean;
};

/** A reading process that waits for the next small text of a workspace. No other document is read in the meantime: see stopIdleReader. */
let idle: { reader: Reader; workspaceId: string; timer: NodeJS.Timeout } | undefined;

/**
 * Reads a document in another process. That process is killed after 60 s, after 20 s of CPU time, above 192 MiB of memory, when the signal
 * aborts, and when this process ends. Throws invalid_argument if the document is malformed or exceeds a limit.
 */
export function readDocument(raw: RawDocument, options: ReadOptions): Promise<ParsedDocument> {
  return read(raw, options);
}

/** Reads the links of a sitemap, with the limits of readDocument. */
export async function readSitemap(content: Uint8Array, options: ReadOptions): Promise<ReadLinks> {
  const { links } = await read({ format: "sitemap", content }, options);
  return links;
}

async function read(raw: ReaderInput, options: ReadOptions): Promise<ParsedDocument> {
  const { workspaceId, maxCpuMs = MAX_CPU_MS } = options;
  const isText = raw.format === "sitemap" || isTextFormat(raw.format);
  const isSmallText = isText && raw.content.length <= MAX_SMALL_TEXT_BYTES;
  if (workspaceId === undefined || !isSmallText) {
    await stopIdleReader();
    const reader = startReader(maxCpuMs);
    const document = await readWith(reader, raw, { ...options, isLast: true });
    // Wait for the exit, which frees the memory for the next document.
    await reader.exited;
    return document;
  }
  const reader = (await takeIdleReader(workspaceId)) ?? startReader(maxCpuMs);
  const document = await readWith(reader, raw, options).catch((error: unknown) => {
    // The limits of a process that has read other documents may have been reached because of those.
    if (reader.isUsed && !options.signal.aborted) return undefined;
    throw error;
  });
  if (document === undefined) return read(raw, options);
  reader.isUsed = true;
  const timer = setTimeout(() => void stopIdleReader(), MAX_IDLE_MS);
  idle = { reader, workspaceId, timer };
  return document;
}

/** Returns the idle process if it is the workspace's. Stops that of another workspace: a document must not affect other workspaces. */
async function takeIdleReader(workspaceId: string): Promise<Reader | undefined> {
  if (idle?.workspaceId !== workspaceId) return stopIdleReader();
  const { reader, timer } = idle;
  idle = undefined;
  clearTimeout(timer);
  return reader;
}

/** Stops the idle process and waits for its exit, which frees its memory. */
async function stopIdleReader(): Promise<undefined> {
  if (idle === undefined) return;
  const { reader, timer } = idle;
  idle = undefined;
  clearTimeout(timer);
  reader.child.kill("SIGKILL");
  await reader.exited;
}

/** Reads a document with a process. If that fails, the process has exited. */
async function readWith(
  { child, lines, exited }: Reader,
  { format, content }: ReaderInput,
  { signal, page, maxCpuMs = MAX_CPU_MS, isLast = false }: ReadOptions & { isLast?: boolean },
): Promise<ParsedDocument> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const end = AbortSignal.any([signal, timeout]);
  const kill = () => child.kill("SIGKILL");
  if (end.aborted) kill();
  end.addEventListener("abort", kill, { once: true });
  try {
    child.stdin.write(`${JSON.stringify({ format, bytes: content.length, page } satisfies DocumentHeader)}\n`);
    child.stdin.write(content);
    if (isLast) child.stdin.end();
    const document = await collectPieces(lines).catch(async (error: unknown) => {
      kill();
      await exited;
      throw error;
    });
    if (document !== undefined && !signal.aborted) return document;
    // The output has ended, or the listener of `end` has killed the process.
    const exit = await exited;
    signal.throwIfAborted();
    if (timeout.aborted) throw unreadableError(`it takes more than ${TIMEOUT_MS / 1_000} s; ${SPLIT_ADVICE}`);
    if (exit.killedBy === CPU_LIMIT_SIGNAL)
      throw unreadableError(`it takes more than ${maxCpuMs / 1_000} s of CPU time; ${SPLIT_ADVICE}`);
    throw exitError(exit);
  } finally {
    end.removeEventListener("abort", kill);
  }
}

function startReader(maxCpuMs: number): Reader {
  const args = [process.pid, MAX_MEMORY_BYTES, maxCpuMs].map(String);
  const child = spawn(process.execPath, [...READER_FLAGS, READER_SCRIPT, ...args], {
    // The service's environment contains passwords.
    env: {},
    stdio: ["pipe", "pipe", "ignore"],
  });
  // Visitors' turns have priority over reading a document.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  // Errors are ignored: if the process is killed or does not read its input, its exit code or signal shows that.
  child.on("error", () => undefined);
  child.stdin.on("error", () => undefined);
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once("close", (code, killedBy) => resolve({ code, killedBy }));
  });
  return { child, lines: readLines(child.stdout), exited, isUsed: false };
}

/** Builds the document from the reading process's output. Returns undefined if the output ends without the message `firstWords`, which comes last. */
async function collectPieces(output: AsyncGenerator<Buffer>): Promise<ParsedDocument | undefined> {
  const lines: Buffer[] = [];
  const links: ReadLinks = { urls: [], isIndex: false };
  let page: PageFacts | undefined;
  let [bytes, chunkCount, characters] = [0, 0, 0];
  // Not `for await`, which would close the output, although the process may read another document.
  for (let next = await output.next(); !next.done; next = await output.next()) {
    const line = next.value;
    bytes += line.length;
    if (bytes > MAX_RESULT_BYTES) throw tooMuchTextError();
    const message = parseMessage(line);
    if ("unreadable" in message) throw unreadableError(UNREADABLE_REASONS[message.unreadable]);
    if ("firstWords" in message) return { ...message, chunkCount, characters, links, page, pieces: parsePieces(lines) };
    if ("page" in message) page = message.page;
    if ("links" in message) {
      links.urls.push(...message.links);
      links.isIndex ||= message.isIndex === true;
    }
    if ("page" in message || "links" in message) continue;
    lines.push(line);
    // This piece has words and no chunks.
    if ("words" in message) continue;
    chunkCount += message.chunks.length;
    characters += message.chunks.reduce((sum, { text }) => sum + text.length, 0);
  }
  return undefined;
}

// Parses the lines a second time, because keeping all pieces as objects would take several times the memory.
function* parsePieces(lines: readonly Buffer[]): Generator<IndexedPiece> {
  for (const line of lines) {
    const message = parseMessage(line);
    if ("chunks" in message || "words" in message) yield message;
  }
}

async function* readLines(output: Readable): AsyncGenerator<Buffer> {
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
    if (length > MAX_LINE_BYTES) throw tooMuchTextError();
  }
}

function exitError({ code, killedBy }: ProcessExit): Error {
  if (code === EXIT_CODE_UNREADABLE) return unreadableError(NESTED_TEXT_REASON);
  // Any other exit code is a bug of the reading process, not a fault of the document.
  if (killedBy === null) return new Error(`the reading process ended with code ${code}`);
  if (MEMORY_LIMIT_SIGNALS.includes(killedBy))
    return unreadableError(`it needs more than ${MAX_MEMORY_BYTES / MiB} MiB of memory; ${SPLIT_ADVICE}`);
  return unreadableError(`its reader crashed (${killedBy}); ${SPLIT_ADVICE}`);
}

function tooMuchTextError(): Error {
  return unreadableError(`it contains too much text; ${SPLIT_ADVICE}`);
}

function unreadableError(reason: string): Error {
  return invalidArgument(`content cannot be read: ${reason}`, UNREADABLE_DOCUMENT);
}
