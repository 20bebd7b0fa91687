import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Worker } from "node:worker_threads";
import type { Block } from "../blocks/block.ts";
import { toChunks } from "../blocks/chunking.ts";
import type { Format } from "../document.ts";
import { indexChunks } from "../index-document.ts";
import { type DocumentHeader, EXIT_CODE_UNREADABLE, type PageOptions, type ReaderMessage } from "./reader-message.ts";
import { UnreadableError } from "./unreadable-error.ts";

// A process that reads documents, one after the other. read-document.client.ts starts it:
//   node read-document.child.ts PARENT_PID MAX_MEMORY_BYTES MAX_CPU_MS
// For each document, stdin has one line of JSON, a DocumentHeader, and then the content. Each ReaderMessage goes to stdout as one line of JSON.
// The process ends after a document that cannot be read, and at the end of stdin.

const LINKS_PER_MESSAGE = 500;

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
    const content = await readContent(header.bytes);
    await pipeline(Readable.from(lines(await readMessages(header, content))), process.stdout, { end: false });
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

async function readMessages({ format, page }: DocumentHeader, content: Uint8Array): Promise<Iterable<ReaderMessage>> {
  if (format === "sitemap") return sitemapMessages(content);
  if (page === undefined) return documentMessages(await readBlocks(format, content));
  if (format !== "html")
    return pageMessages(await readBlocks(format, content), page, { canonical: page.url, links: [] });
  const [{ readPageContent }, { mainPart }, { splitHtml }] = await Promise.all([
    import("../pages/page-content.ts"),
    import("../pages/main-part.ts"),
    import("../pages/html-blocks.ts"),
  ]);
  const read = readPageContent(new TextDecoder().decode(content), page.url);
  return pageMessages(splitHtml(mainPart(read)), page, read);
}

/** Imports only the libraries for the format, to save memory. */
async function readBlocks(format: Format, content: Uint8Array): Promise<Block[]> {
  switch (format) {
    case "pdf":
      return (await import("../pdf/read-pdf.ts")).readPdf(content);
    case "docx":
      return (await import("../office/read-docx.ts")).readDocx(content);
    case "xlsx":
      return (await import("../office/read-xlsx.ts")).readXlsx(content);
    default:
      return (await import("../document.ts")).splitDocument(format, new TextDecoder().decode(content));
  }
}

function* lines(messages: Iterable<ReaderMessage>): Generator<string> {
  for (const message of messages) yield `${JSON.stringify(message)}\n`;
}

function* documentMessages(blocks: readonly Block[]): Generator<ReaderMessage> {
  const firstWords = yield* indexChunks(toChunks(blocks));
  // These words are for detecting the document's language. Without this last line, the parent refuses the document.
  yield { firstWords };
}

function* pageMessages(
  blocks: readonly Block[],
  { contentHash: knownHash }: PageOptions,
  { canonical, links }: { canonical: string; links: string[] },
): Generator<ReaderMessage> {
  const contentHash = createHash("sha256").update(JSON.stringify(blocks)).digest("hex");
  const isUnchanged = contentHash === knownHash;
  yield* linkMessages(links);
  yield { page: { canonical: removeNul(canonical), contentHash, isUnchanged } };
  if (isUnchanged) yield { firstWords: [] };
  else yield* documentMessages(blocks);
}

async function sitemapMessages(content: Uint8Array): Promise<Iterable<ReaderMessage>> {
  const { readSitemap } = await import("../pages/sitemap-links.ts");
  const { isIndex, links } = readSitemap(content);
  return [...linkMessages(links, isIndex), { firstWords: [] }];
}

function* linkMessages(links: readonly string[], isIndex = false): Generator<ReaderMessage> {
  for (let start = 0; start < links.length; start += LINKS_PER_MESSAGE)
    yield { links: links.slice(start, start + LINKS_PER_MESSAGE).map(removeNul), isIndex };
}

function removeNul(text: string): string {
  return text.replaceAll("\0", "");
}
