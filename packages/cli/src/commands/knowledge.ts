import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { KnowledgeAdminService, type Source, SourceSchema } from "@parley/rpc/conversation";
import type { Context } from "../context.ts";
import { messageJson } from "../output/json.ts";
import { printable } from "../output/printable.ts";
import { table } from "../output/table.ts";
import { addDocuments, sourceRows } from "./knowledge-add.ts";
import { botOption, collect, workspaceOption } from "./options.ts";

const NOTHING = "Nothing yet: parley knowledge add --workspace W --bot S FILE";

export function addKnowledgeCommands(program: CommandUnknownOpts, context: Context): void {
  const { admin, report } = context;
  const group = program.command("knowledge").description("the documents that a bot answers from");

  group
    .command("add")
    .description("add documents, or replace those of the same name")
    .argument("[file...]", "text, Markdown, HTML or PDF: .txt .md .html .pdf")
    .option("--url <url>", "a page or document to fetch; repeatable", collect)
    .option("--language <language>", "by name or two-letter code; told by the text unless given", "")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((files, { workspace: workspaceId, bot: botSlug, url: urls = [], language }) =>
      report(addDocuments(context, { workspaceId, botSlug, files, urls, language })),
    );

  group
    .command("list")
    .description("list a bot's documents")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action(({ workspace: workspaceId, bot: botSlug }) =>
      report(
        admin(KnowledgeAdminService, async (service) => {
          const { sources, embeddings } = await service.listSources({ workspaceId, botSlug });
          const { state = "unknown", model = "" } = embeddings ?? {};
          return {
            json: sources.map((each) => messageJson(SourceSchema, each)),
            text: `${table(...sourceRows(sources, state === "on"), NOTHING)}${sources.length > 0 ? describeEmbeddings(state, model, sources) : ""}`,
          };
        }),
      ),
    );

  group
    .command("remove")
    .description("remove a document")
    .argument("<name>", "the document, named as the list names it")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((name, { workspace: workspaceId, bot: botSlug }) =>
      report(
        admin(KnowledgeAdminService, async (service) => {
          await service.removeSource({ workspaceId, botSlug, name });
          return { json: { name, removed: true }, text: `Removed ${name}.\n` };
        }),
      ),
    );
}

/** How far they can be found by meaning too; nothing where nobody asked for that. */
function describeEmbeddings(state: string, model: string, sources: readonly Source[]): string {
  const total = (count: (source: Source) => number) => sources.reduce((sum, each) => sum + count(each), 0);
  if (state === "on")
    return `Embedded ${total((each) => each.embedded)} of ${total((each) => each.chunks)} chunks with ${printable(model)}.\n`;
  if (state === "no_pgvector")
    return "Found by their words alone: the database has no pgvector. In it, as a superuser: CREATE EXTENSION vector\n";
  return "";
}
