import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { KnowledgeAdminService, type KnowledgeUsage, type Source, SourceSchema } from "@parley/rpc/conversation";
import type { Context } from "../../context.ts";
import { messageToJson } from "../../output/json.ts";
import { printable } from "../../output/printable.ts";
import { formatCount, formatTable } from "../../output/table.ts";
import { appendValue, botOption, workspaceOption } from "../options.ts";
import { addDocuments, sourceTable } from "./knowledge-add.ts";
import { addQuestionCommands } from "./knowledge-questions.ts";

const NO_DOCUMENTS = "No documents yet. Add one with parley knowledge add --workspace W --bot S FILE";

export function addKnowledgeCommands(program: CommandUnknownOpts, context: Context): void {
  const { callAdmin, report } = context;
  const group = program.command("knowledge").description("Manage and test a bot's documents.");

  group
    .command("add")
    .description("Add documents, replacing those with equal names.")
    .argument("[file...]", "Select files: .txt, .md, .html or .pdf.")
    .option("--url <url>", "Fetch a page or document, repeatable.", appendValue)
    .option("--language <language>", "Set the language name or code (default: detected).", "")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((files, { workspace: workspaceId, bot: botSlug, url: urls = [], language }) =>
      report(addDocuments(context, { workspaceId, botSlug, files, urls, language })),
    );

  group
    .command("list")
    .description("List a bot's documents.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action(({ workspace: workspaceId, bot: botSlug }) =>
      report(
        callAdmin(KnowledgeAdminService, async (service) => {
          const { sources, embeddings, usage } = await service.listSources({ workspaceId, botSlug });
          const { state = "unknown", model = "" } = embeddings ?? {};
          return {
            json: sources.map((each) => messageToJson(SourceSchema, each)),
            text: `${formatTable(...sourceTable(sources, state === "on"), NO_DOCUMENTS)}${sources.length > 0 ? describeEmbeddings(state, model, sources) : ""}${describeUsage(usage)}`,
          };
        }),
      ),
    );

  group
    .command("remove")
    .description("Remove a document.")
    .argument("<name>", "Select the document by its listed name.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((name, { workspace: workspaceId, bot: botSlug }) =>
      report(
        callAdmin(KnowledgeAdminService, async (service) => {
          await service.removeSource({ workspaceId, botSlug, name });
          return { json: { name, removed: true }, text: `Removed ${name}.\n` };
        }),
      ),
    );

  addQuestionCommands(group, context);
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
