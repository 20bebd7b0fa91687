import type { JsonValue } from "@bufbuild/protobuf";
import { KnowledgeAdminService, type Source, SourceSchema } from "@parley/rpc/conversation";
import { AdminError } from "../admin/call.ts";
import { requireField } from "../admin/require-field.ts";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import { messageToJson } from "../output/json.ts";
import { printable } from "../output/printable.ts";
import type { Result } from "../output/result.ts";
import { type Cell, formatTable } from "../output/table.ts";
import { type Document, readDocument } from "./knowledge-document.ts";

export type Documents = {
  workspaceId: string;
  botSlug: string;
  files: readonly string[];
  urls: readonly string[];
  /** Empty to detect the language of each document. */
  language: string;
};

/**
 * Adds documents. Reads every file before sending the first, so that nothing changes if a file is missing. If the service refuses
 * a document, warns and continues. Throws any other error, because it would affect the next document too.
 */
export async function addDocuments(context: Context, documents: Documents): Promise<Result> {
  const { callAdmin, progress, warn } = context;
  const { workspaceId, botSlug, files, urls, language } = documents;
  if (files.length + urls.length === 0) throw new CliError("give a FILE or --url", { exitCode: 2 });
  const documentsToAdd = [...(await readDocuments(context, files)), ...urls.map((url) => ({ name: url, url }))];
  const sources: Source[] = [];
  const json: JsonValue[] = [];
  for (const [index, document] of documentsToAdd.entries()) {
    const { name } = document;
    progress(`[${index + 1}/${documentsToAdd.length}] ${printable(name)} …`);
    // The service uses the URL as the document's name.
    const content = "url" in document ? { url: document.url } : document;
    try {
      const response = await callAdmin(KnowledgeAdminService, (service) =>
        service.addSource({ workspaceId, botSlug, language, ...content }),
      );
      const source = requireField(response.source);
      sources.push(source);
      json.push(messageToJson(SourceSchema, source));
    } catch (error) {
      if (!(error instanceof AdminError && error.isInvalid)) throw error;
      warn(`${name}: ${error.message}`);
      json.push({ name, error: error.message });
    }
  }
  const failed = documentsToAdd.length - sources.length;
  const added = sources.length > 0 ? formatTable(...sourceRows(sources), "") : "";
  const summary =
    failed > 0 ? `Added ${sources.length} of ${documentsToAdd.length} documents. Failed: ${failed}.\n` : "";
  return { json, text: added + summary, exitCode: failed > 0 ? 1 : 0 };
}

/** Reads the files. Throws the CliError of the last unreadable file, and warns about the others. */
async function readDocuments({ config, warn }: Context, files: readonly string[]): Promise<Document[]> {
  const documents: Document[] = [];
  const failures: CliError[] = [];
  for (const file of files) {
    try {
      documents.push(await readDocument(config.filesDir, file));
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      failures.push(error);
    }
  }
  const last = failures.pop();
  if (last === undefined) return documents;
  for (const { message } of failures) warn(message);
  throw last;
}

/** Returns the titles and rows of a document table. If `hasEmbeddings`, they include the number of embedded chunks. */
export function sourceRows(sources: readonly Source[], hasEmbeddings = false): [titles: string[], rows: Cell[][]] {
  const embedded = <T extends Cell>(cell: T): T[] => (hasEmbeddings ? [cell] : []);
  return [
    ["name", "format", "language", "characters", "chunks", ...embedded("embedded"), "updated"],
    sources.map((each) => [
      ...[each.name, each.format, each.language, each.characters, each.chunks],
      ...embedded(each.embedded),
      each.updatedAt,
    ]),
  ];
}
