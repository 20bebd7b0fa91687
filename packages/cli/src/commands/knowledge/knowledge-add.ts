import { resolve } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";
import { KnowledgeAdminService, type Source, SourceSchema } from "@parley/rpc/conversation";
import { AdminError } from "../../admin/call.ts";
import { requireField } from "../../admin/require-field.ts";
import type { Context } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { messageToJson } from "../../output/json.ts";
import { printable } from "../../output/printable.ts";
import type { Result } from "../../output/result.ts";
import { type Cell, formatCount, formatTable } from "../../output/table.ts";
import { type Document, nameDocument, readDocument } from "./knowledge-document.ts";

export type AddDocumentsOptions = {
  workspaceId: string;
  botSlug: string;
  files: readonly string[];
  urls: readonly string[];
  /** Empty to detect the language of each document. */
  language: string;
  /** The name of the only document; undefined to name each document by its file or URL. */
  name?: string | undefined;
};

/** A file or a URL to add. The name of a URL's document is the URL. */
type Item = { name: string; read: () => Promise<Document | { url: string }> };

/**
 * Adds documents one after the other. Prints the error of a document that fails, and stops if the next documents would fail too. Returns the
 * results of the documents tried.
 */
export async function addDocuments(context: Context, options: AddDocumentsOptions): Promise<Result> {
  const { progress, printError } = context;
  const items = listItems(context, options);
  if (items.length === 0) throw new CliError("give a FILE or --url", { exitCode: 2 });
  if (options.name !== undefined && items.length > 1)
    throw new CliError("--name needs exactly one FILE or --url", { exitCode: 2 });
  refuseEqualNames(context, options.files);
  const sources: Source[] = [];
  const outcomes: JsonValue[] = [];
  for (const [index, { name, read }] of items.entries()) {
    progress(`[${index + 1}/${items.length}] ${printable(name)} …`);
    const content = await read().catch(returnCliError);
    if (content instanceof CliError) {
      // The message already names the file.
      printError(content.message);
      outcomes.push({ name, error: content.message });
      continue;
    }
    const source = await addDocument(context, options, content).catch(returnCliError);
    if (source instanceof CliError) {
      printError(`${name}: ${source.message}`);
      outcomes.push({ name, error: source.message });
      if (!mayNextSucceed(source)) break;
      continue;
    }
    sources.push(source);
    outcomes.push(messageToJson(SourceSchema, source));
  }
  const table = sources.length > 0 ? formatTable(...sourceTable(sources), "") : "";
  const summary = formatSummary({ total: items.length, added: sources.length, tried: outcomes.length });
  return { json: outcomes, text: table + summary, exitCode: sources.length < items.length ? 1 : 0 };
}

function listItems({ config }: Context, { files, urls }: AddDocumentsOptions): Item[] {
  return [
    ...files.map((file) => ({ name: nameDocument(file), read: () => readDocument(config.filesDir, file) })),
    ...urls.map((url) => ({ name: url, read: async () => ({ url }) })),
  ];
}

/** Throws CliError if two different files would become documents of the same name, because the second would replace the first. */
function refuseEqualNames({ config }: Context, files: readonly string[]): void {
  const byName = new Map<string, string>();
  for (const file of files) {
    const name = nameDocument(file);
    const other = byName.get(name) ?? file;
    if (resolve(config.filesDir, other) !== resolve(config.filesDir, file)) {
      const advice = "give relative paths, or rename one";
      throw new CliError(`${other} and ${file} would both be named ${name}: ${advice}`, { exitCode: 2 });
    }
    byName.set(name, file);
  }
}

async function addDocument(
  { callAdmin }: Context,
  { workspaceId, botSlug, language, name }: AddDocumentsOptions,
  content: Document | { url: string },
): Promise<Source> {
  const { source } = await callAdmin(KnowledgeAdminService, (service) =>
    service.addSource({ workspaceId, botSlug, language, ...content, ...(name !== undefined && { name }) }),
  );
  return requireField(source);
}

function returnCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  throw error;
}

/** Returns true if the failed document was invalid or the service's document queue was full: the next documents may then succeed. */
function mayNextSucceed(error: CliError): boolean {
  return error instanceof AdminError && (error.isInvalid || error.code === "too_many_documents");
}

function formatSummary({ total, added, tried }: { total: number; added: number; tried: number }): string {
  if (added === total) return "";
  const notTried = tried < total ? ` Not tried: ${total - tried}.` : "";
  return `Added ${added} of ${formatCount(total, "document")}. Failed: ${tried - added}.${notTried}\n`;
}

/** If `hasEmbeddings`, the table includes the number of embedded chunks. */
export function sourceTable(sources: readonly Source[], hasEmbeddings = false): [titles: string[], rows: Cell[][]] {
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
