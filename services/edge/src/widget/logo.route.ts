import { type RpcClient, RpcError } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import type { FastifyInstance } from "fastify";
import { LRUCache } from "lru-cache";
import { endpoint, HttpError, unavailableError } from "../http/index.ts";

type Logo = { contentType: string; content: Uint8Array };

const GET_LOGO_TIMEOUT_MS = 2_000;
/** Logos of deleted bots disappear from this cache after this time. */
const CACHE_TTL_MS = 60_000;
const MAX_CACHED_BYTES = 8 * 1024 * 1024;
/** The size of an entry without its content, and of an unknown hash. */
const ENTRY_BYTES = 1_024;
/** Guessing hashes can therefore not flood the conversation service. */
const MAX_LOOKUPS = 10;
const HASH = /^[0-9a-f]{64}$/;
/** The types that the conversation service recognizes by the image's bytes, with the extension of a downloaded file. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "image/gif": "gif",
};

/**
 * GET /widget/logos/<SHA-256>: serves a bot's uploaded logo, as an image and nothing else: browsers must not guess another type, and a page with
 * only the image downloads it.
 */
export function logoRoute(
  app: FastifyInstance,
  { conversation }: { conversation: Pick<RpcClient<typeof ConversationService>, "getLogo"> },
): void {
  let lookups = 0;
  // An unknown hash is cached too.
  const logos = new LRUCache<string, { logo: Logo | undefined }>({
    maxSize: MAX_CACHED_BYTES,
    ttl: CACHE_TTL_MS,
    sizeCalculation: ({ logo }) => ENTRY_BYTES + (logo?.content.length ?? 0),
    fetchMethod: async (hash) => {
      if (lookups >= MAX_LOOKUPS) throw new HttpError(503, "overloaded", { "retry-after": "1" });
      lookups++;
      try {
        return { logo: await conversation.getLogo({ hash }, { timeoutMs: GET_LOGO_TIMEOUT_MS }) };
      } catch (error) {
        if (error instanceof RpcError && error.code === "logo_not_found") return { logo: undefined };
        throw unavailableError(error);
      } finally {
        lookups--;
      }
    },
  });
  endpoint(app, {
    method: "GET",
    url: "/widget/logos/:hash",
    config: {},
    head: true,
    handler: async (request, reply) => {
      const { hash } = request.params as { hash: string };
      const found = HASH.test(hash) ? await logos.fetch(hash) : undefined;
      const extension = EXTENSIONS[found?.logo?.contentType ?? ""];
      if (found?.logo === undefined || extension === undefined) throw new HttpError(404, "not_found");
      return reply
        .headers({
          "content-type": found.logo.contentType,
          "content-disposition": `attachment; filename="logo.${extension}"`,
          "content-security-policy": "default-src 'none'; sandbox",
          "x-content-type-options": "nosniff",
          // The content of a hash never changes.
          "cache-control": "public, max-age=31536000, immutable",
          // Pages that isolate themselves load only what permits it.
          "cross-origin-resource-policy": "cross-origin",
        })
        .send(found.logo.content);
    },
  });
}
