import { createHash } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { RpcClient } from "@parley/rpc";
import type { BotAdminService, BotSchema } from "@parley/rpc/conversation";
import type { LlmService } from "@parley/rpc/llm";
import type { QuotaService } from "@parley/rpc/quota";
import {
  adminCallerOf,
  type Database,
  invalidArgument,
  isSlug,
  isWorkspaceId,
  ServiceError,
} from "@parley/service-kit";
import { type BotPatch, toBotPatch } from "./bot-changes.ts";
import { type BotSettings, DEFAULT_DISPLAY, readSettings } from "./bot-settings.ts";
import { type Bot, deleteBot, findBot, insertBot, listBots, updateBot } from "./bots.store.ts";
import { readLogo } from "./logo-image.ts";
import { insertLogo } from "./logos.store.ts";
import { concernsModel, toModelSettings } from "./model-settings.ts";
import { botNotFound, requireBotId } from "./require-bot.service.ts";

const MAX_BOTS = 200;
const GET_WORKSPACE_TIMEOUT_MS = 5_000;
const CHECK_SETTINGS_TIMEOUT_MS = 5_000;

/** The calls for an existing bot report malformed ids as not found. */
const areIdsWellFormed = ({ workspaceId, slug }: { workspaceId: string; slug: string }) =>
  isWorkspaceId(workspaceId) && isSlug(slug);

export type BotAdminDeps = {
  database: Database;
  quota: Pick<RpcClient<typeof QuotaService>, "getWorkspace">;
  llm: Pick<RpcClient<typeof LlmService>, "checkModelSettings">;
  /** The models that owners may choose, by plan. */
  planModels: ReadonlyMap<string, readonly string[]>;
  newId: () => string;
};

export function createBotAdmin(deps: BotAdminDeps): ServiceImpl<typeof BotAdminService> {
  const { database, quota, llm, planModels, newId } = deps;

  const readPermittedModels = async (workspaceId: string) => {
    const options = { timeoutMs: GET_WORKSPACE_TIMEOUT_MS, waitForReady: true };
    const { workspace } = await quota.getWorkspace({ workspaceId }, options);
    return planModels.get(workspace?.plan ?? "") ?? [];
  };
  const requirePermittedModel = (model: string | undefined, models: readonly string[]) => {
    if (model && !isPermitted(model, models))
      throw new ServiceError(
        "permission_denied",
        "model_not_permitted",
        "the workspace's plan does not include this model",
      );
  };

  /** Most bots have no settings of their model. They do not depend on the llm-proxy. */
  const requireAcceptedSettings = async (bot: Partial<BotSettings>) => {
    const settings = toModelSettings(bot);
    if (settings === undefined) return;
    const options = { timeoutMs: CHECK_SETTINGS_TIMEOUT_MS, waitForReady: true };
    const { problem } = await llm.checkModelSettings({ model: bot.model ?? "", settings }, options);
    if (problem !== "") throw invalidArgument(problem, "unsupported_setting");
  };
  const requireAcceptedChange = async (bot: Bot, { display, ...patch }: BotPatch) => {
    if (concernsModel(patch)) await requireAcceptedSettings({ ...bot, ...patch });
  };

  return {
    async createBot({ workspaceId, slug, changes }, context) {
      const { display, ...patch } = toBotPatch(changes);
      // Also called for an operator, because it throws workspace_not_found for an unknown workspace.
      const models = await readPermittedModels(workspaceId);
      if (adminCallerOf(context) !== "operator") requirePermittedModel(patch.model, models);
      await requireAcceptedSettings(patch);
      const newBot = {
        id: newId(),
        workspaceId,
        slug,
        ...readSettings({}),
        ...patch,
        display: { ...DEFAULT_DISPLAY, ...display },
      };
      return { bot: requireStored(await insertBot(database, newBot, { limit: MAX_BOTS })) };
    },
    async duplicateBot({ workspaceId, slug, newSlug, changes }, context) {
      const botPatch = toBotPatch(changes);
      const { display, ...patch } = botPatch;
      const found = requireFound(
        areIdsWellFormed({ workspaceId, slug }) && (await findBot(database, workspaceId, slug)),
      );
      const { createdAt, ...original } = found;
      // A model that an operator chose for the original is permitted for the copy.
      if (patch.model && adminCallerOf(context) !== "operator")
        requirePermittedModel(patch.model, await readPermittedModels(workspaceId));
      await requireAcceptedChange(found, botPatch);
      const copy = {
        ...original,
        ...patch,
        id: newId(),
        slug: newSlug,
        display: { ...original.display, ...display },
      };
      const stored = await insertBot(database, copy, { limit: MAX_BOTS, copyOf: original.id });
      return { bot: requireStored(stored) };
    },
    async uploadLogo({ workspaceId, slug, content }) {
      const botId = await requireBotId(database, { workspaceId, botSlug: slug });
      const { contentType } = readLogo(content);
      const hash = createHash("sha256").update(content).digest("hex");
      await insertLogo(database, { workspaceId, botId }, { hash, contentType, content });
      return { path: `/widget/logos/${hash}` };
    },
    async deleteBot({ workspaceId, slug }) {
      if (!areIdsWellFormed({ workspaceId, slug }) || !(await deleteBot(database, workspaceId, slug)))
        throw botNotFound();
      return {};
    },
    async updateBot({ workspaceId, slug, changes }, context) {
      const patch = toBotPatch(changes);
      if (patch.model && adminCallerOf(context) !== "operator")
        requirePermittedModel(patch.model, await readPermittedModels(workspaceId));
      if (concernsModel(patch) && areIdsWellFormed({ workspaceId, slug }))
        await requireAcceptedChange(requireFound(await findBot(database, workspaceId, slug)), patch);
      return {
        bot: toMessage(
          requireFound(
            areIdsWellFormed({ workspaceId, slug }) && (await updateBot(database, workspaceId, slug, patch)),
          ),
        ),
      };
    },
    async getBot({ workspaceId, slug }) {
      return {
        bot: toMessage(
          requireFound(areIdsWellFormed({ workspaceId, slug }) && (await findBot(database, workspaceId, slug))),
        ),
      };
    },
    async listModels({ workspaceId }) {
      return { models: [...(await readPermittedModels(workspaceId))] };
    },
    async listBots({ workspaceId }) {
      return { bots: isWorkspaceId(workspaceId) ? (await listBots(database, workspaceId)).map(toMessage) : [] };
    },
  };
}

/** In `models`, `<provider>:*` permits every model of the provider. */
function isPermitted(model: string, models: readonly string[]): boolean {
  const [provider] = model.split(":");
  return models.includes(model) || models.includes(`${provider}:*`);
}

function requireStored(bot: Awaited<ReturnType<typeof insertBot>>): MessageInitShape<typeof BotSchema> {
  if (bot === "full")
    throw new ServiceError("resource_exhausted", "too_many_bots", `a workspace has at most ${MAX_BOTS} bots`);
  if (bot === "exists")
    throw new ServiceError("already_exists", "slug_taken", "the workspace has, or had, a bot with this slug");
  return toMessage(bot);
}

function requireFound(bot: Bot | undefined | false): Bot {
  if (!bot) throw botNotFound();
  return bot;
}

function toMessage(bot: Bot): MessageInitShape<typeof BotSchema> {
  return { ...bot, createdAt: bot.createdAt.toISOString() };
}
