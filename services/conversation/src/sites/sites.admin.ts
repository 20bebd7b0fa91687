import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { SiteAdminService, SitePageSchema, SiteSchema } from "@parley/rpc/conversation";
import { createPageTokens, cutPage, type Database, invalidArgument, notFound, ServiceError } from "@parley/service-kit";
import { requireBotId } from "../bots/index.ts";
import { normalizeUrl } from "./page-url.ts";
import { listPages, type Page } from "./pages.store.ts";
import { MAX_SITES, type Site, type SiteRef } from "./site.ts";
import { changeSite, findSite, listSites, putSite, scheduleSite } from "./sites.store.ts";

const DEFAULT_MAX_PAGES = 500;
const DEFAULT_PAGES = 100;
const pageTokens = createPageTokens({ url: (text) => URL.canParse(text) });

export function createSiteAdmin(database: Database): ServiceImpl<typeof SiteAdminService> {
  const requireRef = async (request: BotFields & { id: bigint }): Promise<SiteRef> => ({
    workspaceId: request.workspaceId,
    botId: await requireBotId(database, request),
    id: Number(request.id),
  });
  const change = async (request: BotFields & { id: bigint }, to: Parameters<typeof changeSite>[2]) => ({
    site: toMessage(requireFound(await changeSite(database, await requireRef(request), to))),
  });
  return {
    async putSite(request) {
      const { workspaceId, include, exclude, refreshMinutes, singlePage: isSinglePage } = request;
      const botId = await requireBotId(database, request);
      const settings = {
        url: requireUrl(request.url),
        include: include.map(requirePattern),
        exclude: exclude.map(requirePattern),
        maxPages: request.maxPages || DEFAULT_MAX_PAGES,
        refreshMinutes,
        isSinglePage,
      };
      const site = await putSite(database, { workspaceId, botId }, settings);
      if (site === "removing")
        throw new ServiceError("failed_precondition", "site_removing", "the site is being removed: add it again later");
      if (site === "too_many")
        throw new ServiceError("resource_exhausted", "too_many_sites", `a workspace has at most ${MAX_SITES} sites`);
      return { site: toMessage(site) };
    },
    async listSites(request) {
      const { workspaceId } = request;
      const botId = await requireBotId(database, request);
      return { sites: (await listSites(database, { workspaceId, botId })).map(toMessage) };
    },
    async getSite(request) {
      const size = request.pageSize || DEFAULT_PAGES;
      const after = pageTokens.parse(request.pageToken)?.url ?? "";
      const ref = await requireRef(request);
      const site = requireFound(await findSite(database, ref));
      const found = await listPages(database, ref, { outcome: request.outcome, after, limit: size + 1 });
      const { page, last } = cutPage(found, size);
      return { site: toMessage(site), pages: page.map(toPageMessage), nextPageToken: pageTokens.format(last) };
    },
    async scheduleSite(request) {
      const site = await scheduleSite(database, await requireRef(request), request.refreshMinutes);
      return { site: toMessage(requireFound(site)) };
    },
    refreshSite: (request) => change(request, "refresh"),
    stopSite: (request) => change(request, "stop"),
    removeSite: (request) => change(request, "remove"),
  };
}

type BotFields = { workspaceId: string; botSlug: string };

function requireFound<T>(site: T | undefined): T {
  if (site === undefined) throw notFound("site_not_found", "the bot has no such site");
  return site;
}

/** The crawler checks addresses when it connects, so a name that is not permitted is not an error here. */
function requireUrl(text: string): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol) || url.username !== "" || url.password !== "")
    throw invalidArgument("url must begin with http:// or https://, without a user name and a password");
  return normalizeUrl(url.href);
}

function requirePattern(text: string): string {
  const pattern = text.trim();
  if (!/^[/*]/.test(pattern)) throw invalidArgument("a pattern must begin with / or *");
  return pattern;
}

function toMessage({ counts, isSinglePage, ...site }: Site): MessageInitShape<typeof SiteSchema> {
  return {
    ...site,
    singlePage: isSinglePage,
    id: BigInt(site.id),
    startedAt: site.startedAt.toISOString(),
    endedAt: site.endedAt?.toISOString() ?? "",
    nextRunAt: site.nextRunAt?.toISOString() ?? "",
    counts,
  };
}

function toPageMessage({ document, ...page }: Page): MessageInitShape<typeof SitePageSchema> {
  return {
    ...page,
    outcome: page.isWaiting ? "waiting" : page.outcome,
    document: document ?? "",
    checkedAt: page.checkedAt?.toISOString() ?? "",
    changedAt: page.changedAt?.toISOString() ?? "",
    goneSince: page.goneSince?.toISOString() ?? "",
  };
}
