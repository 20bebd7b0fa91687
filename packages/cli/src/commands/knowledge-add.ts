import { KnowledgeAdminService, type Source, SourceSchema } from "@parley/rpc/conversation";
import { answered } from "../admin/answered.ts";
import type { Context } from "../context.ts";
import { messageJson } from "../output/json.ts";
import { printable } from "../output/printable.ts";
import type { Result } from "../output/result.ts";
import { type Cell, table } from "../output/table.ts";
import { readDocument } from "./document.ts";

type Request = { workspaceId: string; botSlug: string; files: readonly string[] };

/** Reads every file before it sends any, so that a mistyped name leaves nothing half done. */
export async function addFiles({ admin, config, progress }: Context, request: Request): Promise<Result> {
  const { workspaceId, botSlug, files } = request;
  const documents = await Promise.all(files.map((file) => readDocument(config.filesDir, file)));
  const sources: Source[] = [];
  for (const [index, { name, format, content }] of documents.entries()) {
    progress(`[${index + 1}/${documents.length}] ${printable(name)} …`);
    const { source } = await admin(KnowledgeAdminService, (service) =>
      service.addSource({ workspaceId, botSlug, name, format, content }),
    );
    sources.push(answered(source));
  }
  return {
    json: sources.map((each) => messageJson(SourceSchema, each)),
    text: table(...sourceRows(sources), ""),
  };
}

/** Titles and rows of a list of documents. */
export function sourceRows(sources: readonly Source[]): [titles: string[], rows: Cell[][]] {
  return [
    ["name", "format", "characters", "chunks", "updated"],
    sources.map((each) => [each.name, each.format, each.characters, each.chunks, each.updatedAt]),
  ];
}
