import { isUtf8 } from "node:buffer";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { RpcClient } from "@parley/rpc";
import type { AddSourceRequest, KnowledgeAdminService, SourceSchema } from "@parley/rpc/conversation";
import type { QuotaService } from "@parley/rpc/quota";
import { type Database, type Egress, invalidArgument, isLongerThan, type Logger, notFound } from "@parley/service-kit";
import { requireBotId } from "../bots/index.ts";
import {
  DocumentFetcher,
  DocumentQueue,
  detectLanguage,
  FORMATS,
  type Format,
  LANGUAGES,
  type LanguageName,
  parseLanguage,
  type RawDocument,
  readDocument,
  toUtf8,
} from "../documents/index.ts";
import type { EmbeddingStatus } from "./embeddings.worker.ts";
import {
  deleteSource,
  listSources,
  putSource,
  readKnowledgeUsage,
  readUsageWithout,
  type Source,
} from "./knowledge.store.ts";
import { requireRoom } from "./knowledge-limits.ts";

const MAX_NAME_CHARACTERS = 200;
const MAX_URL_CHARACTERS = 2_000;
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
const MAX_PDF_BYTES = 16 * 1024 * 1024;
const GET_WORKSPACE_TIMEOUT_MS = 5_000;

export type KnowledgeDeps = {
  database: Database;
  quota: Pick<RpcClient<typeof QuotaService>, "getWorkspace">;
  egress: Egress;
  embeddings: { status: EmbeddingStatus };
  log: Logger;
};

export function createKnowledgeAdmin({
  database,
  quota,
  egress,
  embeddings,
  log,
}: KnowledgeDeps): ServiceImpl<typeof KnowledgeAdminService> {
  const queue = new DocumentQueue();
  const readLimits = async (workspaceId: string) => {
    const { workspace } = await quota.getWorkspace({ workspaceId }, { timeoutMs: GET_WORKSPACE_TIMEOUT_MS });
    return { maxDocuments: workspace?.maxKnowledgeDocuments, maxCharacters: workspace?.maxKnowledgeCharacters };
  };
  const fetcher = new DocumentFetcher({ egress, maxBytes: MAX_PDF_BYTES, log });
  return {
    async addSource(request, { signal }) {
      const { workspaceId, url } = request;
      const name = requireName(request.name || url);
      const requestedLanguage = requireLanguage(request.language);
      const botId = await requireBotId(database, request);
      const limits = await readLimits(workspaceId);
      // Refuses a document of a full workspace before it is fetched and read.
      requireRoom(await readUsageWithout(database, { workspaceId, botId, name }), 0, limits);
      const store = (raw: RawDocument) =>
        queue.run({ workspaceId, bytes: raw.content.length, signal }, async () => {
          const document = await readDocument(raw, { signal });
          if (document.chunkCount === 0) throw invalidArgument("content holds no text");
          const source = { workspaceId, botId, name, format: raw.format, url, document };
          const language = requestedLanguage ?? (await detectLanguage(database, document.firstWords));
          const stored = await putSource(database, { ...source, language }, limits);
          return { source: toMessage(stored, embeddings.status) };
        });
      if (url === "") return store(readContent(request));
      requireFetchable(request);
      return fetcher.withDocument({ workspaceId, url, signal }, (fetched) => store(toContent(request, fetched)));
    },
    async listSources(request) {
      const botId = await requireBotId(database, request);
      const { status } = embeddings;
      const sources = await listSources(database, request.workspaceId, botId);
      const usage = await readKnowledgeUsage(database, request.workspaceId);
      // The list does not depend on the quota service.
      const limits = await readLimits(request.workspaceId).catch(() => ({}));
      return {
        sources: sources.map((source) => toMessage(source, status)),
        embeddings: status,
        usage: { ...usage, characters: BigInt(usage.characters), ...limits },
      };
    },
    async removeSource(request) {
      const botId = await requireBotId(database, request);
      if (request.name.includes("\0") || !(await deleteSource(database, request.workspaceId, botId, request.name)))
        throw notFound("source_not_found", "the bot has no document of this name");
      return {};
    },
  };
}

function readContent({ format, content }: AddSourceRequest): RawDocument {
  return requireValidContent(decodeText({ format: requireFormat(format), content }));
}

/** Converts a text that is not UTF-8 by its byte order mark or an HTML document's meta element, as the text of a URL. */
function decodeText({ format, content }: RawDocument): RawDocument {
  if (format === "pdf" || isUtf8(content)) return { format, content };
  try {
    return { format, content: toUtf8(content, { contentType: "", format }, { fatal: true }) };
  } catch (error) {
    // The decoder's error for content that is not valid in the charset.
    if (error instanceof TypeError) throw notText();
    throw error;
  }
}

function requireFetchable({ url, content }: AddSourceRequest): void {
  if (content.length > 0) throw invalidArgument("give either content or a url");
  if (isLongerThan(url, MAX_URL_CHARACTERS) || url.includes("\0"))
    throw invalidArgument(`url must have at most ${MAX_URL_CHARACTERS} characters, and no NUL`, "url_refused");
}

/** Checks a fetched document. The format of the request replaces that of the response. */
function toContent({ format }: AddSourceRequest, fetched: RawDocument): RawDocument {
  return requireValidContent(format === "" ? fetched : { ...fetched, format: requireFormat(format) });
}

function requireValidContent({ format, content }: RawDocument): RawDocument {
  if (format === "pdf") {
    if (content.length > MAX_PDF_BYTES) throw invalidArgument("a PDF must have at most 16 MiB");
  } else {
    if (content.length > MAX_TEXT_BYTES) throw invalidArgument("content must have at most 4 MiB");
    if (!isUtf8(content)) throw notText();
    if (content.includes(0)) throw invalidArgument("content must be text, without NUL");
  }
  return { format, content };
}

function notText(): Error {
  return invalidArgument("content must be text in UTF-8, or in UTF-16 with a byte order mark");
}

function requireName(text: string): string {
  const name = text.trim();
  if (name === "" || isLongerThan(name, MAX_NAME_CHARACTERS) || name.includes("\0"))
    throw invalidArgument(`name must have 1 to ${MAX_NAME_CHARACTERS} characters, and no NUL`);
  return name;
}

function requireFormat(text: string): Format {
  const format = FORMATS.find((each) => each === text);
  if (format === undefined) throw invalidArgument(`format must be one of ${FORMATS.join(", ")}`);
  return format;
}

function requireLanguage(text: string): LanguageName | undefined {
  if (text === "") return undefined;
  const language = parseLanguage(text);
  if (language === undefined)
    throw invalidArgument(`language must be simple or one of ${Object.entries(LANGUAGES).flat().join(", ")}`);
  return language;
}

function toMessage(source: Source, { model }: EmbeddingStatus): MessageInitShape<typeof SourceSchema> {
  const { embeddingModel, embedded, ...rest } = source;
  return {
    ...rest,
    id: BigInt(source.id),
    updatedAt: source.updatedAt.toISOString(),
    embedded: embeddingModel === model ? embedded : 0,
  };
}
