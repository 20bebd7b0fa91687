import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { ServiceError } from "@parley/service-kit";
import type { IndexedDocument, TextFormat } from "../documents/index.ts";

const WORKER = new URL("./worker.ts", import.meta.url);
const TIMEOUT_MS = 20_000;
const MAX_HEAP_MB = 512;
const IDLE_MS = 5_000;

/** A document as it came: text, or the bytes of a PDF. */
export type RawDocument = { format: TextFormat; content: string } | { format: "pdf"; content: Uint8Array };

export type DocumentReader = (document: RawDocument) => Promise<IndexedDocument>;

/**
 * Reads documents one after the other, in a thread beside the event loop: a large one takes seconds, and one made to be slow takes for ever,
 * and no turn is to wait for either. Throws invalid_argument for a document that cannot be read within 20 s; the thread goes with it.
 */
export function documentReader(timeoutMs = TIMEOUT_MS): DocumentReader {
  let last: Promise<unknown> = Promise.resolve();
  let thread: Worker | undefined;
  const read = async (raw: RawDocument): Promise<IndexedDocument> => {
    const worker = thread ?? startThread();
    thread = undefined;
    try {
      worker.ref();
      worker.postMessage(raw);
      const [document] = await once(worker, "message", { signal: AbortSignal.timeout(timeoutMs) });
      keep(worker);
      return document as IndexedDocument;
    } catch (cause) {
      await worker.terminate();
      const message = UNREADABLE[raw.format === "pdf" ? "pdf" : "text"];
      throw new ServiceError("invalid_argument", "unreadable_document", message, { cause });
    }
  };
  // For the next document, which mostly comes at once or not for long; the process may end meanwhile.
  const keep = (worker: Worker) => {
    thread = worker;
    worker.unref();
    setTimeout(() => {
      if (thread !== worker) return;
      thread = undefined;
      void worker.terminate();
    }, IDLE_MS).unref();
  };
  return (raw) => {
    const document = last.then(
      () => read(raw),
      () => read(raw),
    );
    last = document;
    return document;
  };
}

const UNREADABLE = {
  text: "content cannot be read: it is nested too deeply, or takes too long; split it or send it as txt",
  pdf: "content cannot be read: it is no whole PDF, is locked with a password, or takes too long",
};

function startThread(): Worker {
  return new Worker(WORKER, { resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } });
}
