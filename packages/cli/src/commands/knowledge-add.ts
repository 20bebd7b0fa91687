import type { JsonValue } from "@bufbuild/protobuf";
import { KnowledgeAdminService, type Source, SourceSchema } from "@parley/rpc/conversation";
import { answered } from "../admin/answered.ts";
import { AdminError } from "../admin/call.ts";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import { messageJson } from "../output/json.ts";
import { printable } from "../output/printable.ts";
import type { Result } from "../output/result.ts";
import { type Cell, table } from "../output/table.ts";
import { type Document, readDocument } from "./document.ts";

export type Documents = {
  workspaceId: string;
  botSlug: string;
  files: readonly string[];
  urls: readonly string[];
  /** Empty to be told by each text. */
  language: string;
};

/**
 * Reads every file before it sends any, so that a mistyped name leaves nothing half done. Reports a document that the service refuses and
 * goes on with the next; throws at any other failure, which the next document would meet too.
 */
export async function addDocuments(context: Context, documents: Documents): Promise<Result> {
  const { admin, progress, warn } = context;
  const { workspaceId, botSlug, files, urls, language } = documents;
  if (files.length + urls.length === 0) throw new CliError("name a file, or a page with --url", { exitCode: 2 });
  const all = [...(await readDocuments(context, files)), ...urls.map((url) => ({ name: url, url }))];
  const sources: Source[] = [];
  const json: JsonValue[] = [];
  for (const [index, document] of all.entries()) {
    const { name } = document;
    progress(`[${index + 1}/${all.length}] ${printable(name)} …`);
    // The service names a page by its URL.
    const content = "url" in document ? { url: document.url } : document;
    try {
      const response = await admin(KnowledgeAdminService, (service) =>
        service.addSource({ workspaceId, botSlug, language, ...content }),
      );
      const source = answered(response.source);
      sources.push(source);
      json.push(messageJson(SourceSchema, source));
    } catch (error) {
      if (!(error instanceof AdminError && error.isInvalid)) throw error;
      warn(`${name}: ${error.message}`);
      json.push({ name, error: error.message });
    }
  }
  const failed = all.length - sources.length;
  const added = sources.length > 0 ? table(...sourceRows(sources), "") : "";
  const summary = failed > 0 ? `Added ${sources.length} of ${all.length} documents. Failed: ${failed}.\n` : "";
  return { json, text: added + summary, exitCode: failed > 0 ? 1 : 0 };
}

/** Reads the files. Throws CliError when one cannot be read, after reporting every other one that cannot. */
async function readDocuments({ config, warn }: Context, files: readonly string[]): Promise<Document[]> {
  const read: Document[] = [];
  const failures: CliError[] = [];
  for (const file of files) {
    try {
      read.push(await readDocument(config.filesDir, file));
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      failures.push(error);
    }
  }
  const last = failures.pop();
  if (last === undefined) return read;
  for (const { message } of failures) warn(message);
  throw last;
}

/** Titles and rows of a list of documents, and how many chunks of each are embedded where any are to be. */
export function sourceRows(sources: readonly Source[], isEmbedding = false): [titles: string[], rows: Cell[][]] {
  const embedded = <T extends Cell>(cell: T): T[] => (isEmbedding ? [cell] : []);
  return [
    ["name", "format", "language", "characters", "chunks", ...embedded("embedded"), "updated"],
    sources.map((each) => [
      ...[each.name, each.format, each.language, each.characters, each.chunks],
      ...embedded(each.embedded),
      each.updatedAt,
    ]),
  ];
}
