import { KnowledgeAdminService, type Source, SourceSchema } from "@parley/rpc/conversation";
import { answered } from "../admin/answered.ts";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import { messageJson } from "../output/json.ts";
import { printable } from "../output/printable.ts";
import type { Result } from "../output/result.ts";
import { type Cell, table } from "../output/table.ts";
import { readDocument } from "./document.ts";

export type Documents = {
  workspaceId: string;
  botSlug: string;
  files: readonly string[];
  urls: readonly string[];
  /** Empty to be told by each text. */
  language: string;
};

/** Reads every file before it sends any, so that a mistyped name leaves nothing half done. */
export async function addDocuments({ admin, config, progress }: Context, documents: Documents): Promise<Result> {
  const { workspaceId, botSlug, files, urls, language } = documents;
  if (files.length + urls.length === 0) throw new CliError("name a file, or a page with --url", { exitCode: 2 });
  const read = await Promise.all(files.map((file) => readDocument(config.filesDir, file)));
  const all = [...read, ...urls.map((url) => ({ name: url, url }))];
  const sources: Source[] = [];
  for (const [index, document] of all.entries()) {
    progress(`[${index + 1}/${all.length}] ${printable(document.name)} …`);
    // The service names a page by its URL.
    const content = "url" in document ? { url: document.url } : document;
    const { source } = await admin(KnowledgeAdminService, (service) =>
      service.addSource({ workspaceId, botSlug, language, ...content }),
    );
    sources.push(answered(source));
  }
  return {
    json: sources.map((each) => messageJson(SourceSchema, each)),
    text: table(...sourceRows(sources), ""),
  };
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
