import { type CommandUnknownOpts, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import type { Client } from "@connectrpc/connect";
import {
  PutSiteRequestSchema,
  type Site,
  SiteAdminService,
  type SitePage,
  SitePageSchema,
  SiteSchema,
} from "@parley/rpc/conversation";
import { readPages } from "@parley/rpc/pages";
import { limitsOf } from "@parley/rpc/rules";
import { requireField } from "../../admin/require-field.ts";
import type { Context } from "../../context.ts";
import { messageToJson } from "../../output/json.ts";
import type { Result } from "../../output/result.ts";
import { formatCount, formatFields, formatTable } from "../../output/table.ts";
import { appendValue, botOption, parseSeconds, refuseEmpty, wholeNumberParser, workspaceOption } from "../options.ts";
import { formatRetention } from "../retention.ts";

const PAGE_SIZE = 500;
const NO_SITES = "No sites yet. Add one with parley knowledge crawl --workspace W --bot S --url URL";
const OUTCOMES = [
  ...["waiting", "added", "changed", "unchanged", "duplicate"],
  ...["moved", "skipped", "missing", "removed", "failed"],
];
const { max: MAX_PAGES } = limitsOf(PutSiteRequestSchema.field.maxPages);
const { min: MIN_MINUTES, max: MAX_MINUTES } = limitsOf(PutSiteRequestSchema.field.refreshMinutes);
const idArgument = ["<id>", "Select the site by its ID.", parseId] as const;
export const everyOption = ["--every <time>", "Refresh regularly: 12h, 1d or never.", parseEvery] as const;

/** Adds `crawl` and the group `site` to `parley knowledge`. */
export function addSiteCommands(group: CommandUnknownOpts, { callAdmin, report }: Context): void {
  group
    .command("crawl")
    .description("Add a website's pages, or crawl it again.")
    .requiredOption("--url <url>", "Set the page to start from.", refuseEmpty)
    .option("--include <pattern>", "Add only paths like this, repeatable.", appendValue)
    .option("--exclude <pattern>", "Leave out paths like this, repeatable.", appendValue)
    .option("--max-pages <n>", "Set the most documents.", wholeNumberParser(1, MAX_PAGES), 500)
    .addOption(new Option(everyOption[0], everyOption[1]).argParser(parseEvery).default(0, "never"))
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action(({ workspace: workspaceId, bot: botSlug, url, include = [], exclude = [], maxPages, every }) =>
      report(
        callAdmin(SiteAdminService, async (service) => {
          const settings = { url, include, exclude, maxPages, refreshMinutes: every };
          return describeStarted((await service.putSite({ workspaceId, botSlug, ...settings })).site);
        }),
      ),
    );

  const sites = group.command("site").description("Manage the websites that a bot knows.");
  sites
    .command("list")
    .description("List a bot's websites.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action(({ workspace: workspaceId, bot: botSlug }) =>
      report(
        callAdmin(SiteAdminService, async (service) => {
          const { sites: found } = await service.listSites({ workspaceId, botSlug });
          return {
            json: found.map((each) => messageToJson(SiteSchema, each)),
            text: formatTable(
              ["id", "url", "state", "checked", "found", "documents", "failed", "next run", "failure"],
              found.map((each) => [
                ...[String(each.id), each.url, each.state, countChecked(each), each.counts?.found ?? 0],
                ...[each.counts?.documents ?? 0, each.counts?.failed ?? 0, each.nextRunAt || "–", each.failure],
              ]),
              NO_SITES,
            ),
          };
        }),
      ),
    );

  sites
    .command("show")
    .description("Show a website's settings, progress and pages.")
    .argument(...idArgument)
    .addOption(new Option("--outcome <outcome>", "List only these pages.").choices(OUTCOMES).default(""))
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((id, { workspace: workspaceId, bot: botSlug, outcome }) =>
      report(callAdmin(SiteAdminService, (service) => showSite(service, { workspaceId, botSlug, id, outcome }))),
    );

  sites
    .command("schedule")
    .description("Change how often a website is refreshed.")
    .argument(...idArgument)
    .requiredOption(...everyOption)
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((id, { workspace: workspaceId, bot: botSlug, every: refreshMinutes }) =>
      report(
        callAdmin(SiteAdminService, async (service) =>
          describeSite((await service.scheduleSite({ workspaceId, botSlug, id, refreshMinutes })).site, ""),
        ),
      ),
    );

  const changes = [
    ["refresh", "Crawl a website again.", "refreshSite", "It is crawled."],
    ["stop", "Stop the crawl of a website.", "stopSite", "It is stopped. Its documents stay."],
    ["remove", "Remove a website and its documents.", "removeSite", "It is being removed, with its documents."],
  ] as const;
  for (const [name, description, method, message] of changes)
    sites
      .command(name)
      .description(description)
      .argument(...idArgument)
      .requiredOption(...workspaceOption)
      .requiredOption(...botOption)
      .action((id, { workspace: workspaceId, bot: botSlug }) =>
        report(
          callAdmin(SiteAdminService, async (service) =>
            describeSite((await service[method]({ workspaceId, botSlug, id })).site, `${message}\n`),
          ),
        ),
      );
}

function parseId(text: string): bigint {
  if (/^\d{1,18}$/.test(text)) return BigInt(text);
  throw new InvalidArgumentError("It must be a number from parley knowledge site list.");
}

/** Parses a time such as 12h or 7d. Returns minutes; 0 for "never". */
function parseEvery(text: string): number {
  if (text === "never") return 0;
  const minutes = parseSeconds(text) / 60;
  if (Number.isInteger(minutes) && minutes >= MIN_MINUTES && minutes <= MAX_MINUTES) return minutes;
  throw new InvalidArgumentError("It must be a time from 1h to 365d, such as 12h or 1d, or never.");
}

type PageRequest = { workspaceId: string; botSlug: string; url: string; refreshMinutes: number };

/** Adds the page of a URL, without the pages to which it links, and refreshes it regularly. */
export function addRefreshedPage({ callAdmin }: Context, request: PageRequest): Promise<Result> {
  return callAdmin(SiteAdminService, async (service) =>
    describeStarted((await service.putSite({ ...request, singlePage: true })).site),
  );
}

/** Describes a site whose crawl was started. */
function describeStarted(site: Site | undefined): Result {
  const { id } = requireField(site);
  return describeSite(site, `Watch it with parley knowledge site show ${id} --workspace W --bot S\n`);
}

function describeSite(site: Site | undefined, message: string): Result {
  const found = requireField(site);
  return { json: messageToJson(SiteSchema, found), text: `${formatFields(fieldsOf(found))}${message}` };
}

type ShowRequest = { workspaceId: string; botSlug: string; id: bigint; outcome: string };

async function showSite(service: Client<typeof SiteAdminService>, request: ShowRequest): Promise<Result> {
  const pages: SitePage[] = [];
  let site: Site | undefined;
  const readPage = (pageToken: string) => service.getSite({ ...request, pageSize: PAGE_SIZE, pageToken });
  for await (const page of readPages(readPage)) {
    site = page.site;
    pages.push(...page.pages);
  }
  const found = requireField(site);
  const rows = pages.map(({ url, outcome, canonical, reason, checkedAt }) => [
    ...[url, outcome, canonical || reason, checkedAt],
  ]);
  return {
    json: {
      site: messageToJson(SiteSchema, found),
      pages: pages.map((each) => messageToJson(SitePageSchema, each)),
    },
    text: `${formatFields(fieldsOf(found))}${formatTable(["page", "outcome", "detail", "checked"], rows, "No pages.")}`,
  };
}

function fieldsOf(site: Site): [label: string, value: string | number][] {
  const { added = 0, changed = 0, unchanged = 0, duplicate = 0, moved = 0 } = site.counts ?? {};
  const { found = 0, documents = 0, skipped = 0, missing = 0, removed = 0, failed = 0 } = site.counts ?? {};
  return [
    ["id", String(site.id)],
    ["url", site.url],
    ...(site.singlePage ? [] : settingsOf(site)),
    ["refresh", site.refreshMinutes === 0 ? "never" : `every ${formatRetention(site.refreshMinutes)}`],
    ["state", site.failure === "" ? site.state : `${site.state}: ${site.failure}`],
    ["started", site.startedAt],
    ["ended", site.endedAt || "–"],
    ["next run", site.nextRunAt || "–"],
    ["checked", `${countChecked(site)} of ${found}`],
    ["documents", `${documents}: ${added} added, ${changed} changed, ${unchanged} unchanged`],
    ["others", `${duplicate} duplicate, ${moved} moved, ${skipped} skipped, ${missing} missing, ${removed} removed`],
    ["failed", failed],
  ];
}

function settingsOf(site: Site): [label: string, value: string][] {
  return [
    ["include", site.include.join(" ") || "all"],
    ["exclude", site.exclude.join(" ") || "nothing"],
    ["limit", formatCount(site.maxPages, "document")],
  ];
}

function countChecked({ counts }: Site): number {
  return (counts?.found ?? 0) - (counts?.waiting ?? 0);
}
