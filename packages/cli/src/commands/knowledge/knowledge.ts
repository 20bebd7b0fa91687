import type { JsonValue } from "@bufbuild/protobuf";
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import type { Client } from "@connectrpc/connect";
import {
  KnowledgeAdminService,
  type KnowledgeUsage,
  type ListSourcesResponse,
  type Source,
  type SourcePassage,
  SourcePassageSchema,
  SourceSchema,
} from "@parley/rpc/conversation";
import { readPages } from "@parley/rpc/pages";
import { requireField } from "../../admin/require-field.ts";
import type { Context } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { messageToJson } from "../../output/json.ts";
import { printable } from "../../output/printable.ts";
import type { Result } from "../../output/result.ts";
import { formatCount, formatTable } from "../../output/table.ts";
import { appendValue, botOption, refuseEmpty, workspaceOption } from "../options.ts";
import { addDocuments, sourceTable } from "./knowledge-add.ts";
import { describeFormats } from "./knowledge-document.ts";
import { addQuestionCommands } from "./knowledge-questions.ts";
import { addRefreshedPage, addSiteCommands, everyOption } from "./knowledge-sites.ts";

const PAGE_SIZE = 500;
const PASSAGES_PER_PAGE = 200;
const NO_DOCUMENTS = "No documents yet. Add one with parley knowledge add --workspace W --bot S FILE";

export function addKnowledgeCommands(program: CommandUnknownOpts, context: Context): void {
  const { callAdmin, report } = context;
  const group = program.command("knowledge").description("Manage and test a bot's documents.");

  group
    .command("add")
    .description("Add documents, replacing those with equal names.")
    .argument("[file...]", `Select files: ${describeFormats()}.`)
    .option("--url <url>", "Fetch a page or document, repeatable.", appendValue)
    .option("--language <language>", "Set the language name or code (default: detected).", "")
    .option("--name <name>", "Set the name (default: file name or URL).", refuseEmpty)
    .option(...everyOption)
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((files, { workspace: workspaceId, bot: botSlug, url: urls = [], language, name, every }) => {
      const bot = { workspaceId, botSlug };
      if (every === undefined) return report(addDocuments(context, { ...bot, files, urls, language, name }));
      const [url] = urls;
      if (url === undefined || urls.length > 1 || files.length > 0 || language !== "" || name !== undefined)
        throw new CliError("--every needs exactly one --url, and neither --language nor --name", { exitCode: 2 });
      return report(addRefreshedPage(context, { ...bot, url, refreshMinutes: every }));
    });

  group
    .command("list")
    .description("List a bot's documents.")
    .option("--query <text>", "List only names that contain the text.", "")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action(({ workspace: workspaceId, bot: botSlug, query }) =>
      report(
        callAdmin(KnowledgeAdminService, async (service) => {
          const { sources, embeddings, usage } = await listAllSources(service, { workspaceId, botSlug, query });
          const { state = "unknown", model = "" } = embeddings ?? {};
          return {
            json: sources.map((each) => messageToJson(SourceSchema, each)),
            text: `${formatTable(...sourceTable(sources, state === "on"), query === "" ? NO_DOCUMENTS : "No document has this text in its name.")}${sources.length > 0 ? describeEmbeddings(state, model, sources) : ""}${describeUsage(usage)}`,
          };
        }),
      ),
    );

  group
    .command("show")
    .description("Show a document's text.")
    .argument("<name>", "Select the document by its listed name.")
    .option("--original", "Show the text as it was added.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((name, { workspace: workspaceId, bot: botSlug, original = false }) => {
      const document = { workspaceId, botSlug, name };
      return report(
        callAdmin(KnowledgeAdminService, (service) =>
          original ? showOriginal(service, document) : showPassages(service, document),
        ),
      );
    });

  group
    .command("rename")
    .description("Rename a document.")
    .argument("<name>", "Select the document by its listed name.")
    .argument("<new-name>", "Set the new name.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((name, newName, { workspace: workspaceId, bot: botSlug }) =>
      report(
        callAdmin(KnowledgeAdminService, async (service) => {
          const { source } = await service.renameSource({ workspaceId, botSlug, name, newName });
          return {
            json: messageToJson(SourceSchema, requireField(source)),
            text: `Renamed ${printable(name)} to ${printable(newName)}.\n`,
          };
        }),
      ),
    );

  group
    .command("remove")
    .description("Remove documents.")
    .argument("<name...>", "Select documents by their listed names.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((names, { workspace: workspaceId, bot: botSlug }) =>
      report(removeDocuments(context, { workspaceId, botSlug, names })),
    );

  addSiteCommands(group, context);
  addQuestionCommands(group, context);
}

type Knowledge = Client<typeof KnowledgeAdminService>;
type Document = { workspaceId: string; botSlug: string; name: string };

/** Reads every page of the list. The response's usage and embeddings are those of the first page. */
export async function listAllSources(
  service: Pick<Knowledge, "listSources">,
  request: { workspaceId: string; botSlug: string; query?: string },
): Promise<Pick<ListSourcesResponse, "sources" | "embeddings" | "usage">> {
  const pages: ListSourcesResponse[] = [];
  const readPage = (pageToken: string) => service.listSources({ ...request, pageSize: PAGE_SIZE, pageToken });
  for await (const page of readPages(readPage)) pages.push(page);
  return { ...(pages[0] as ListSourcesResponse), sources: pages.flatMap(({ sources }) => sources) };
}

async function showOriginal(service: Knowledge, document: Document): Promise<Result> {
  const { source, text } = await service.getSourceText(document);
  return { json: { ...toJsonObject(requireField(source)), text }, text: text.endsWith("\n") ? text : `${text}\n` };
}

/** Shows the text as the bot reads it. */
async function showPassages(service: Knowledge, document: Document): Promise<Result> {
  const passages: SourcePassage[] = [];
  let source: Source | undefined;
  const readPage = (pageToken: string) => service.getSource({ ...document, pageSize: PASSAGES_PER_PAGE, pageToken });
  for await (const page of readPages(readPage)) {
    source = page.source;
    passages.push(...page.passages);
  }
  return {
    json: {
      ...toJsonObject(requireField(source)),
      passages: passages.map((each) => messageToJson(SourcePassageSchema, each)),
    },
    text: passages.map(({ heading, text }) => `${heading === "" ? "" : `[${heading}]\n`}${text}\n`).join("\n"),
  };
}

function toJsonObject(source: Source): Record<string, JsonValue> {
  return messageToJson(SourceSchema, source) as Record<string, JsonValue>;
}

/** Removes documents one after the other, and stops at the first that cannot be removed. */
async function removeDocuments(
  { callAdmin }: Context,
  { workspaceId, botSlug, names }: { workspaceId: string; botSlug: string; names: readonly string[] },
): Promise<Result> {
  for (const name of names)
    await callAdmin(KnowledgeAdminService, (service) => service.removeSource({ workspaceId, botSlug, name }));
  const removed = names.map((name) => ({ name, removed: true }));
  return {
    json: removed.length === 1 ? (removed[0] ?? {}) : removed,
    text: names.map((name) => `Removed ${printable(name)}.\n`).join(""),
  };
}

/** Returns a line about the workspace's limits, or an empty text if they are unknown. */
function describeUsage(usage: KnowledgeUsage | undefined): string {
  if (usage?.maxDocuments === undefined || usage.maxCharacters === undefined) return "";
  const { documents, characters, maxDocuments, maxCharacters } = usage;
  return `The workspace has ${documents} of ${maxDocuments} documents and ${characters} of ${maxCharacters} characters.\n`;
}

/** Returns a line about semantic search, or an empty text if its state is off or unknown. */
function describeEmbeddings(state: string, model: string, sources: readonly Source[]): string {
  const total = (count: (source: Source) => number) => sources.reduce((sum, each) => sum + count(each), 0);
  if (state === "on")
    return `Embedded ${total((each) => each.embedded)} of ${formatCount(
      total((each) => each.chunks),
      "chunk",
    )} with ${printable(model)}.\n`;
  if (state === "no_pgvector")
    return "Only word search is available: the database has no pgvector. As a superuser, run CREATE EXTENSION vector\n";
  return "";
}
