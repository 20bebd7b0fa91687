import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { RpcClient } from "@parley/rpc";
import type { BotAdminService, BotSchema } from "@parley/rpc/conversation";
import type { QuotaService } from "@parley/rpc/quota";
import { type Database, invalid, isWorkspaceId, ServiceError } from "@parley/service-kit";
import { toBotPatch } from "./bot-changes.ts";
import { DEFAULT_DISPLAY } from "./bot-display.ts";
import { type Bot, findBot, insertBot, listBots, updateBot } from "./bots.store.ts";
import { botNotFound } from "./require-bot.service.ts";
import { isSlug } from "./slug.ts";

const DEFAULT_FALLBACK = "I'm sorry, I can't help with that.";
const GET_WORKSPACE_TIMEOUT_MS = 5_000;

/** Returns whether the ids are well-formed. Malformed ids are reported as not found. */
const couldExist = ({ workspaceId, slug }: { workspaceId: string; slug: string }) =>
  isWorkspaceId(workspaceId) && isSlug(slug);

/** Implements the admin service of bots. */
export function botAdmin(
  database: Database,
  quota: Pick<RpcClient<typeof QuotaService>, "getWorkspace">,
  newId: () => string,
): ServiceImpl<typeof BotAdminService> {
  return {
    async createBot({ workspaceId, slug, changes }) {
      if (!isSlug(slug)) throw invalid("slug must have 1 to 64 characters of a-z 0-9 -");
      const { display, ...patch } = toBotPatch(changes);
      // The quota service owns workspaces. Its workspace_not_found is returned to the caller.
      await quota.getWorkspace({ workspaceId }, { timeoutMs: GET_WORKSPACE_TIMEOUT_MS, waitForReady: true });
      const bot = await insertBot(database, {
        id: newId(),
        workspaceId,
        slug,
        model: "",
        systemPrompt: "",
        fallback: DEFAULT_FALLBACK,
        ...patch,
        display: { ...DEFAULT_DISPLAY, ...display },
      });
      if (bot === undefined)
        throw new ServiceError("already_exists", "slug_taken", "the workspace has a bot with this slug");
      return { bot: toMessage(bot) };
    },
    async updateBot({ workspaceId, slug, changes }) {
      const patch = toBotPatch(changes);
      return { bot: found(couldExist({ workspaceId, slug }) && (await updateBot(database, workspaceId, slug, patch))) };
    },
    async getBot({ workspaceId, slug }) {
      return { bot: found(couldExist({ workspaceId, slug }) && (await findBot(database, workspaceId, slug))) };
    },
    async listBots({ workspaceId }) {
      return { bots: isWorkspaceId(workspaceId) ? (await listBots(database, workspaceId)).map(toMessage) : [] };
    },
  };
}

function found(bot: Bot | undefined | false): MessageInitShape<typeof BotSchema> {
  if (!bot) throw botNotFound();
  return toMessage(bot);
}

function toMessage(bot: Bot): MessageInitShape<typeof BotSchema> {
  return { ...bot, createdAt: bot.createdAt.toISOString() };
}
