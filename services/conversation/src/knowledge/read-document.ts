import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { ServiceError } from "@parley/service-kit";
import type { Chunk } from "../domain/knowledge/chunking.ts";
import type { Format } from "../domain/knowledge/document.ts";

const WORKER = new URL("./worker.ts", import.meta.url);
const TIMEOUT_MS = 20_000;
const MAX_HEAP_MB = 512;

export type DocumentReader = (format: Format, text: string) => Promise<Chunk[]>;

/**
 * Reads documents one after the other, each in a thread of its own: a large one takes seconds, and one made to be slow takes for ever,
 * and no turn is to wait for either. Throws invalid_argument for a document that cannot be read within 20 s.
 */
export function documentReader(timeoutMs = TIMEOUT_MS): DocumentReader {
  let last: Promise<unknown> = Promise.resolve();
  return (format, text) => {
    const read = () => readInThread(format, text, timeoutMs);
    const chunks = last.then(read, read);
    last = chunks;
    return chunks;
  };
}

async function readInThread(format: Format, text: string, timeoutMs: number): Promise<Chunk[]> {
  const worker = new Worker(WORKER, {
    workerData: { format, text },
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  try {
    const [chunks] = await once(worker, "message", { signal: AbortSignal.timeout(timeoutMs) });
    return chunks as Chunk[];
  } catch (cause) {
    const message = "content cannot be read: it is nested too deeply, or takes too long; split it or send it as txt";
    throw new ServiceError("invalid_argument", "unreadable_document", message, { cause });
  } finally {
    await worker.terminate();
  }
}
