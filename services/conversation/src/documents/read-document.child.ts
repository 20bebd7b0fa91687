import { once } from "node:events";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Worker } from "node:worker_threads";
import type { Block } from "./block.ts";
import { toChunks } from "./chunking.ts";
import type { Format } from "./document.ts";
import { indexChunks } from "./index-document.ts";
import { EXIT_CODE_UNREADABLE, type ReaderMessage } from "./reader-message.ts";

// A process that reads one document. read-document.client.ts starts it:
//   node read-document.child.ts FORMAT BYTES PARENT_PID MAX_MEMORY_BYTES MAX_CPU_MS
// The document is on stdin. Each ReaderMessage goes to stdout as one line of JSON.

const [format, bytes, parentPid, maxMemoryBytes, maxCpuMs] = process.argv.slice(2);

const watchdog = new Worker(new URL("./watchdog.js", import.meta.url), {
  workerData: { parentPid: Number(parentPid), maxMemoryBytes: Number(maxMemoryBytes), maxCpuMs: Number(maxCpuMs) },
});
await once(watchdog, "online");
watchdog.unref();

try {
  const blocks = await readBlocks(format as Format, await readInput(Number(bytes)));
  await pipeline(Readable.from(lines(blocks)), process.stdout);
} catch {
  // The error is not logged, because it may quote the document.
  process.exitCode = EXIT_CODE_UNREADABLE;
}

async function readInput(length: number): Promise<Uint8Array> {
  const content = new Uint8Array(length);
  let read = 0;
  for await (const data of process.stdin as AsyncIterable<Uint8Array>) {
    content.set(data, read);
    read += data.length;
  }
  if (read < length) throw new Error("the document is incomplete");
  return content;
}

/** Imports only the libraries for the format, to save memory. */
async function readBlocks(format: Format, content: Uint8Array): Promise<Block[]> {
  if (format === "pdf") {
    const { readPdf } = await import("./read-pdf.ts");
    return await readPdf(content);
  }
  const { splitDocument } = await import("./document.ts");
  return splitDocument(format, new TextDecoder().decode(content));
}

function* lines(blocks: readonly Block[]): Generator<string> {
  for (const message of messages(blocks)) yield `${JSON.stringify(message)}\n`;
}

function* messages(blocks: readonly Block[]): Generator<ReaderMessage> {
  const firstWords = yield* indexChunks(toChunks(blocks));
  // These words are for detecting the document's language. Without this last line, the parent refuses the document.
  yield { firstWords };
}
