import { parentPort, workerData } from "node:worker_threads";
import { toChunks } from "../domain/knowledge/chunking.ts";
import { documentBlocks, type Format } from "../domain/knowledge/document.ts";

const { format, text } = workerData as { format: Format; text: string };
parentPort?.postMessage(toChunks(documentBlocks(format, text)));
