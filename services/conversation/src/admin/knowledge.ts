import { isUtf8 } from "node:buffer";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { KnowledgeAdminService, SourceSchema } from "@parley/rpc/conversation";
import { type Database, invalid, notFound } from "@parley/service-kit";
import { FORMATS, type Format } from "../domain/knowledge/document.ts";
import { isLongerThan } from "../domain/text.ts";
import type { DocumentReader } from "../knowledge/read-document.ts";
import { requireBotId } from "../rpc/require-bot.ts";
import { deleteSource, listSources, putSource, type Source } from "../store/knowledge.ts";

const MAX_NAME_CHARACTERS = 200;
const MAX_CONTENT_BYTES = 4 * 1024 * 1024;

/** The admin service of what bots know. */
export function knowledgeAdmin(
  database: Database,
  readDocument: DocumentReader,
): ServiceImpl<typeof KnowledgeAdminService> {
  return {
    async addSource(request) {
      const { workspaceId, content } = request;
      const name = requireName(request.name);
      const format = requireFormat(request.format);
      const botId = await requireBotId(database, request);
      const chunks = await readDocument(format, decode(content));
      if (chunks.length === 0) throw invalid("content holds no text");
      return { source: toMessage(await putSource(database, { workspaceId, botId, name, format, chunks })) };
    },
    async listSources(request) {
      const botId = await requireBotId(database, request);
      return { sources: (await listSources(database, request.workspaceId, botId)).map(toMessage) };
    },
    async removeSource(request) {
      const botId = await requireBotId(database, request);
      if (request.name.includes("\0") || !(await deleteSource(database, request.workspaceId, botId, request.name)))
        throw notFound("source_not_found", "the bot has no source of this name");
      return {};
    },
  };
}

function decode(content: Uint8Array): string {
  if (content.length > MAX_CONTENT_BYTES) throw invalid("content must have at most 4 MiB");
  if (!isUtf8(content)) throw invalid("content must be UTF-8");
  const text = new TextDecoder().decode(content);
  if (text.includes("\0")) throw invalid("content must be text, without NUL");
  return text;
}

function requireName(text: string): string {
  const name = text.trim();
  if (name === "" || isLongerThan(name, MAX_NAME_CHARACTERS) || name.includes("\0"))
    throw invalid(`name must have 1 to ${MAX_NAME_CHARACTERS} characters`);
  return name;
}

function requireFormat(text: string): Format {
  const format = FORMATS.find((each) => each === text);
  if (format === undefined) throw invalid(`format must be one of ${FORMATS.join(", ")}`);
  return format;
}

function toMessage(source: Source): MessageInitShape<typeof SourceSchema> {
  return { ...source, id: BigInt(source.id), updatedAt: source.updatedAt.toISOString() };
}
