import { Buffer } from "node:buffer";
import { once } from "node:events";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Worker } from "node:worker_threads";
import type { Block } from "./block.ts";
import { toChunks } from "./chunking.ts";
import type { Format } from "./document.ts";
import { indexChunks } from "./index-document.ts";
import { type DocumentHeader, EXIT_CODE_UNREADABLE, type ReaderMessage } from "./reader-message.ts";
import { UnreadableError } from "./unreadable-error.ts";

// A process that reads documents, one after the other. read-document.client.ts starts it:
//   node read-document.child.ts PARENT_PID MAX_MEMORY_BYTES MAX_CPU_MS
// For each document, stdin has one line of JSON, a DocumentHeader, and then the content. Each ReaderMessage goes to stdout as one line of JSON.
// The process ends after a document that cannot be read, and at the end of stdin.

const [parentPid, maxMemoryBytes, maxCpuMs] = process.argv.slice(2);

const watchdog = new Worker(new URL("./watchdog.js", import.meta.url), {
  workerData: { parentPid: Number(parentPid), maxMemoryBytes: Number(maxMemoryBytes), maxCpuMs: Number(maxCpuMs) },
});
await once(watchdog, "online");
watchdog.unref();

const input = process.stdin[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
/** Bytes of stdin that belong to the next document. */
let rest: Buffer = Buffer.alloc(0);

try {
  for (let header = await readHeader(); header !== undefined; header = await readHeader()) {
    watchdog.postMessage("next document");
    const blocks = await readBlocks(header.format, await readContent(header.bytes));
    await pipeline(Readable.from(lines(blocks)), process.stdout, { end: false });
  }
} catch (error) {
  // Other errors are not reported, because they may quote the document.
  if (error instanceof UnreadableError)
    process.stdout.write(`${JSON.stringify({ unreadable: error.reason } satisfies ReaderMessage)}\n`);
  process.exitCode = EXIT_CODE_UNREADABLE;
  process.stdin.destroy();
}

/** Returns undefined at the end of stdin. */
async function readHeader(): Promise<DocumentHeader | undefined> {
  for (let end = rest.indexOf("\n"); ; end = rest.indexOf("\n")) {
    if (end !== -1) {
      const line = rest.subarray(0, end);
      rest = rest.subarray(end + 1);
      return JSON.parse(line.toString()) as DocumentHeader;
    }
    const { value, done } = await input.next();
    if (done) return undefined;
    rest = Buffer.concat([rest, value]);
  }
}

async function readContent(length: number): Promise<Uint8Array> {
  const content = new Uint8Array(length);
  let read = 0;
  for (let data = rest; ; ) {
    const part = data.subarray(0, length - read);
    content.set(part, read);
    read += part.length;
    rest = data.subarray(part.length);
    if (read === length) return content;
    const { value, done } = await input.next();
    if (done) throw new Error("the document is incomplete");
    data = value;
  }
}

/** Imports only the libraries for the format, to save memory. */
async function readBlocks(format: Format, content: Uint8Array): Promise<Block[]> {
  switch (format) {
    case "pdf":
      return (await import("./read-pdf.ts")).readPdf(content);
    case "docx":
      return (await import("./read-docx.ts")).readDocx(content);
    case "xlsx":
      return (await import("./read-xlsx.ts")).readXlsx(content);
    default:
      return (await import("./document.ts")).splitDocument(format, new TextDecoder().decode(content));
  }
}

function* lines(blocks: readonly Block[]): Generator<string> {
  for (const message of messages(blocks)) yield `${JSON.stringify(message)}\n`;
}

function* messages(blocks: readonly Block[]): Generator<ReaderMessage> {
  const firstWords = yield* indexChunks(toChunks(blocks));
  // These words are for detecting the document's language. Without this last line, the parent refuses the document.
  yield { firstWords };
}
