import { isUtf8 } from "node:buffer";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { AddSourceRequest, KnowledgeAdminService, SourceSchema } from "@parley/rpc/conversation";
import { DOCUMENT_FORMATS, isTextFormat } from "@parley/rpc/documents";
import {
  createPageTokens,
  cutPage,
  type Database,
  invalidArgument,
  isLongerThan,
  notFound,
  ServiceError,
} from "@parley/service-kit";
import { requireBotId } from "../bots/index.ts";
import {
  type DocumentFetcher,
  type DocumentQueue,
  detectLanguage,
  type Format,
  LANGUAGES,
  type LanguageName,
  notText,
  parseLanguage,
  type RawDocument,
  readDocument,
  requireValidContent,
  toUtf8,
} from "../documents/index.ts";
import { recordKnowledgeFailed } from "../events/index.ts";
import type { EmbeddingStatus } from "./embeddings.worker.ts";
import {
  countSources,
  deleteSource,
  findSource,
  listPassages,
  listSources,
  putSource,
  readKnowledgeUsage,
  readSourceText,
  readUsageWithout,
  renameSource,
  type Source,
  type SourceRef,
} from "./knowledge.store.ts";
import type { ReadKnowledgeLimits } from "./knowledge-limits.service.ts";
import { requireRoom } from "./knowledge-limits.ts";

const MAX_NAME_CHARACTERS = 200;
const DEFAULT_SOURCES = 100;
const DEFAULT_PASSAGES = 50;
/** A page token of GetSource is the position of the previous page's last passage. */
const passagePageTokens = createPageTokens({ position: (text) => /^\d{1,9}$/.test(text) });

export type KnowledgeDeps = {
  database: Database;
  queue: DocumentQueue;
  fetcher: DocumentFetcher;
  readLimits: ReadKnowledgeLimits;
  /** Returns the status of the embeddings on the workspace's shard. */
  findEmbeddingStatus: (workspaceId: string) => Promise<EmbeddingStatus>;
};

export function createKnowledgeAdmin({
  database,
  queue,
  fetcher,
  readLimits,
  findEmbeddingStatus,
}: KnowledgeDeps): ServiceImpl<typeof KnowledgeAdminService> {
  const requireSourceRef = async (request: BotFields & { name: string }): Promise<SourceRef> => {
    const ref = {
      workspaceId: request.workspaceId,
      botId: await requireBotId(database, request),
      name: request.name.normalize("NFC"),
    };
    if (request.name.includes("\0")) throw sourceNotFound();
    return ref;
  };
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
          const document = await readDocument(raw, { signal, workspaceId });
          if (document.chunkCount === 0) throw invalidArgument("content holds no text");
          const text = url === "" && isEditable(raw.format) ? new TextDecoder().decode(raw.content) : undefined;
          const expectedUpdatedAt = request.expectedUpdatedAt || undefined;
          const source = { workspaceId, botId, name, format: raw.format, url, document, text, expectedUpdatedAt };
          const language = requestedLanguage ?? (await detectLanguage(database, workspaceId, document.firstWords));
          const stored = await putSource(database, { ...source, language }, limits);
          return { source: toMessage(stored, await findEmbeddingStatus(workspaceId)) };
        });
      if (url === "") return store(readContent(request));
      requireFetchable(request);
      try {
        return await fetcher.withDocument({ workspaceId, url, signal }, (fetched) =>
          store(toContent(request, fetched)),
        );
      } catch (error) {
        // The document's fault, not an overload.
        if (error instanceof ServiceError && error.kind === "invalid_argument")
          await recordKnowledgeFailed(database, { workspaceId, botSlug: request.botSlug, name, code: error.code });
        throw error;
      }
    },
    async listSources(request) {
      const { workspaceId, pageToken } = request;
      const query = request.query.normalize("NFC");
      const size = request.pageSize || DEFAULT_SOURCES;
      const botId = await requireBotId(database, request);
      const status = await findEmbeddingStatus(workspaceId);
      const bot = { workspaceId, botId };
      const found = await listSources(database, bot, { query, after: pageToken || undefined, limit: size + 1 });
      const { page, last } = cutPage(found, size);
      const usage = await readKnowledgeUsage(database, request.workspaceId);
      // The list does not depend on the quota service.
      const limits = await readLimits(request.workspaceId).catch(() => ({}));
      return {
        sources: page.map((source) => toMessage(source, status)),
        embeddings: status,
        usage: { ...usage, characters: BigInt(usage.characters), ...limits },
        nextPageToken: last?.name ?? "",
        matches: await countSources(database, bot, query),
      };
    },
    async getSource(request) {
      const size = request.pageSize || DEFAULT_PASSAGES;
      const after = Number(passagePageTokens.parse(request.pageToken)?.position ?? 0);
      const source = requireFound(await findSource(database, await requireSourceRef(request)));
      const { workspaceId } = request;
      const found = await listPassages(database, { workspaceId, id: source.id }, { after, limit: size + 1 });
      const { page, last } = cutPage(found, size);
      return {
        source: toMessage(source, await findEmbeddingStatus(workspaceId)),
        passages: page.map(({ heading, text }) => ({ heading, text })),
        nextPageToken: passagePageTokens.format(last),
      };
    },
    async getSourceText(request) {
      const { text, ...source } = requireFound(await readSourceText(database, await requireSourceRef(request)));
      if (text === null) throw notFound("text_not_stored", "the text of this document is not stored as it was added");
      return { source: toMessage(source, await findEmbeddingStatus(request.workspaceId)), text };
    },
    async renameSource(request) {
      const newName = normalizeName(request.newName);
      const renamed = await renameSource(database, await requireSourceRef(request), newName);
      if (renamed === "exists")
        throw new ServiceError("already_exists", "source_exists", "the bot has another document of this name");
      return { source: toMessage(requireFound(renamed), await findEmbeddingStatus(request.workspaceId)) };
    },
    async removeSource(request) {
      if (!(await deleteSource(database, await requireSourceRef(request)))) throw sourceNotFound();
      return {};
    },
  };
}

type BotFields = { workspaceId: string; botSlug: string };

function sourceNotFound(): ServiceError {
  return notFound("source_not_found", "the bot has no document of this name");
}

function requireFound<T>(source: T | undefined): T {
  if (source === undefined) throw sourceNotFound();
  return source;
}

/** Other formats are edited with the program that wrote them. */
function isEditable(format: Format): boolean {
  return format === "txt" || format === "md";
}

function readContent({ format, content }: AddSourceRequest): RawDocument {
  return requireValidContent(decodeText({ format: requireFormat(format), content }));
}

/** Converts a text that is not UTF-8 by its byte order mark or an HTML document's meta element, as the text of a URL. */
function decodeText({ format, content }: RawDocument): RawDocument {
  if (!isTextFormat(format) || (isUtf8(content) && !content.includes(0))) return { format, content };
  try {
    return { format, content: toUtf8(content, { contentType: "", format }, { fatal: true }) };
  } catch (error) {
    // The decoder's error for content that is not valid in the charset.
    if (error instanceof TypeError) throw notText();
    throw error;
  }
}

function requireFetchable({ content }: AddSourceRequest): void {
  if (content.length > 0) throw invalidArgument("give either content or a url");
}

/** Checks a fetched document. The format of the request replaces that of the response. */
function toContent({ format }: AddSourceRequest, fetched: RawDocument): RawDocument {
  return requireValidContent(format === "" ? fetched : { ...fetched, format: requireFormat(format) });
}

/** The same name can be typed with different characters, which the file systems of macOS do: é as one, or as e with an accent. */
function normalizeName(text: string): string {
  return text.trim().normalize("NFC");
}

function requireName(text: string): string {
  const name = normalizeName(text);
  if (name === "" || isLongerThan(name, MAX_NAME_CHARACTERS) || name.includes("\0"))
    throw invalidArgument(`name must have 1 to ${MAX_NAME_CHARACTERS} characters, and no NUL`);
  return name;
}

function requireFormat(text: string): Format {
  const format = DOCUMENT_FORMATS.find((each) => each === text);
  if (format === undefined) throw invalidArgument(`format must be one of ${DOCUMENT_FORMATS.join(", ")}`);
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
