/** Identifies a site of a bot. */
export type SiteRef = { workspaceId: string; botId: string; id: number };

export type SiteSettings = {
  url: string;
  include: string[];
  exclude: string[];
  maxPages: number;
  /** 0 if only an owner starts runs. */
  refreshMinutes: number;
  /** Whether only the page of the URL is read, and no link is followed. */
  isSinglePage: boolean;
};

export type SiteState = "crawling" | "complete" | "failed" | "stopped" | "removing";

/** The pages of a site, by the result of their last check. */
export type PageCounts = {
  /** All URLs that were found. */
  found: number;
  /** Pages that the run has not checked yet. */
  waiting: number;
  documents: number;
  added: number;
  changed: number;
  unchanged: number;
  duplicate: number;
  moved: number;
  skipped: number;
  missing: number;
  removed: number;
  failed: number;
};

export type Site = SiteSettings & {
  id: number;
  state: SiteState;
  startedAt: Date;
  endedAt: Date | null;
  /** Null if no run is planned. */
  nextRunAt: Date | null;
  failureCode: string;
  failure: string;
  counts: PageCounts;
};

/** A site that this process has leased. */
export type ClaimedSite = SiteSettings & {
  workspaceId: string;
  botId: string;
  botSlug: string;
  id: number;
  state: SiteState;
  run: number;
  isSeeded: boolean;
  /** Identifies the lease. */
  holder: string;
};

export type PageOutcome =
  | "added"
  | "changed"
  | "unchanged"
  | "duplicate"
  | "moved"
  | "skipped"
  | "missing"
  | "removed"
  | "failed";

export const PAGE_OUTCOMES: readonly PageOutcome[] = [
  "added",
  "changed",
  "unchanged",
  "duplicate",
  "moved",
  "skipped",
  "missing",
  "removed",
  "failed",
];

/** The result of a run: all pages were checked, some pages failed, or the run failed as a whole. */
export const RUN_RESULTS = ["complete", "incomplete", "failed"] as const;
export type RunResult = (typeof RUN_RESULTS)[number];

/** How many URLs a crawl remembers for each page that may become a document: also those that moved, are missing or are duplicates. */
export const URLS_PER_PAGE = 2;
export const MAX_SITES = 50;
/** The run that confirms that a page is gone starts this long after the one that missed it first. */
export const CONFIRM_MINUTES = 60;
