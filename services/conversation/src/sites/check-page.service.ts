import { type Connection, ServiceError } from "@parley/service-kit";
import {
  detectLanguage,
  type FetchedPage,
  fetchPage,
  type PageValidators,
  type ParsedDocument,
  type RawDocument,
  readDocument,
  requireValidContent,
  statusError,
} from "../documents/index.ts";
import type { KnowledgeLimits } from "../knowledge/index.ts";
import { type CrawlDeps, isFetchFailure, isUnexpected, SitePaused } from "./crawl.ts";
import { documentName, isCrawlable, isIncluded, isSameSite, normalizeUrl } from "./page-url.ts";
import {
  addPages,
  countDocuments,
  deferPage,
  findEqualPage,
  findResult,
  type PageResult,
  recordResult,
  removeDocument,
  skipNewPages,
  storePage,
  type WaitingPage,
} from "./pages.store.ts";
import { filterUrls, type Robots } from "./robots.ts";
import type { ClaimedSite } from "./site.ts";
import { withLease } from "./site-leases.store.ts";

const MAX_DEPTH = 15;
/** Attempts of a page in one run, if its server is busy or its check fails unexpectedly. */
const MAX_ATTEMPTS = 3;
const UNEXPECTED_PAUSE_SECONDS = 5;
const DEFAULT_RETRY_SECONDS = 60;
const MAX_RETRY_SECONDS = 10 * 60;
/** The server is busy. */
const RETRIED_STATUSES = [429, 503];
const GONE_STATUSES = [404, 410];

export type CheckContext = { site: ClaimedSite; robots: Robots; signal: AbortSignal };

type Content = { raw: RawDocument; validators: PageValidators };

/** Checks the pages of a site: fetches each, and stores its text if it has changed. */
export class CheckPage {
  readonly #deps: CrawlDeps;
  readonly #context: CheckContext;
  #limits: Promise<KnowledgeLimits> | undefined;

  constructor(deps: CrawlDeps, context: CheckContext) {
    this.#deps = deps;
    this.#context = context;
  }

  /** Returns whether the site's server was asked. Throws if the service has no room, or if the site should pause. */
  async run(page: WaitingPage): Promise<boolean> {
    const { site, robots, signal } = this.#context;
    const { url } = page;
    if (!site.isSinglePage && !isCrawlable(url, site)) {
      await this.#exclude(page);
      return false;
    }
    if (!robots.mayFetch(url)) {
      await this.#record(page, { outcome: "skipped", code: "robots_refused", reason: "robots.txt forbids the page" });
      return false;
    }
    const request = {
      url,
      // A page without a document is read again, because its content may have become that of a document.
      validators: page.sourceId === null ? NO_VALIDATORS : page,
      isSamePage: (other: string) => site.isSinglePage || normalizeUrl(other) === url,
    };
    try {
      await this.#deps.fetcher.withFetched(
        { workspaceId: site.workspaceId, signal },
        (options) => fetchPage(request, options),
        (fetched) => this.#handle(page, fetched),
      );
    } catch (error) {
      await this.#handleFailure(page, error);
    }
    return true;
  }

  async #handle(page: WaitingPage, fetched: FetchedPage): Promise<void> {
    switch (fetched.kind) {
      case "content":
        return this.#handleContent(page, fetched);
      case "unchanged":
        return this.#record(page, { outcome: "unchanged" });
      case "moved":
        return this.#handleMoved(page, fetched);
      case "status":
        return this.#handleStatus(page, fetched);
    }
  }

  async #handleContent(page: WaitingPage, { raw, validators }: Content): Promise<void> {
    const { site, signal } = this.#context;
    const { workspaceId } = site;
    const { url, sourceId } = page;
    // Without a document, the text is stored even if it has not changed.
    const contentHash = sourceId === null ? "" : page.contentHash;
    const document = { workspaceId, bytes: raw.content.length, signal };
    await this.#deps.queue.run(document, async () => {
      const read = await readDocument(requireValidContent(raw), { signal, workspaceId, page: { url, contentHash } });
      await this.#handleText(page, read, { raw, validators });
    });
  }

  async #handleText(page: WaitingPage, read: ParsedDocument, { raw, validators }: Content): Promise<void> {
    const { site } = this.#context;
    const { url, depth } = page;
    if (read.page === undefined) throw new Error("the reading process wrote no facts of a page");
    const canonical = await this.#findCanonical(page, read.page.canonical);
    const equal =
      canonical ?? (await findEqualPage(this.#deps.database, site, { url, contentHash: read.page.contentHash }));
    if (equal !== undefined) {
      if (canonical !== undefined) await this.#add([canonical], depth);
      // The links of a page with the same text are not followed, because they may lead on for ever.
      return this.#record(page, { outcome: "duplicate", canonical: equal, ...validators });
    }
    await this.#add(read.links.urls, depth + 1);
    if (!isIncluded(url, site)) return this.#exclude(page);
    if (read.page.isUnchanged && page.sourceId !== null)
      return this.#record(page, { outcome: "unchanged", ...validators });
    if (read.chunkCount === 0)
      return this.#record(page, { outcome: "skipped", code: "no_text", reason: "the page holds no text" });
    await this.#store(page, read, { raw, validators });
  }

  async #store(page: WaitingPage, read: ParsedDocument, { raw, validators }: Content): Promise<void> {
    const { site } = this.#context;
    const { workspaceId, botId, maxPages } = site;
    const { database } = this.#deps;
    const { url } = page;
    this.#limits ??= this.#deps.readLimits(workspaceId);
    const limits = await this.#limits;
    const language = await detectLanguage(database, workspaceId, read.firstWords);
    const source = { workspaceId, botId, name: documentName(url), format: raw.format, language, url, document: read };
    const contentHash = read.page?.contentHash ?? "";
    await withLease(database, site, async (connection) => {
      // A concurrent check may have stored the same text since.
      const equal = await findEqualPage(connection, site, { url, contentHash });
      if (equal !== undefined)
        return recordResult(connection, site, url, { outcome: "duplicate", canonical: equal, ...validators });
      if (page.sourceId === null && (await countDocuments(connection, site)) >= maxPages)
        return skipNewPages(connection, site, {
          outcome: "skipped",
          code: "max_pages",
          reason: `the site's limit of ${maxPages} pages is reached`,
        });
      await storePage(connection, site, { url, source, contentHash, ...validators }, limits);
    });
  }

  async #handleMoved(page: WaitingPage, { url, isPermanent }: Extract<FetchedPage, { kind: "moved" }>): Promise<void> {
    const target = normalizeUrl(url);
    if (!isSameSite(target, this.#context.site.url)) {
      const reason = `the page redirects to another site, ${new URL(target).host}`;
      return this.#record(page, { outcome: "moved", code: "other_site", reason, canonical: target });
    }
    await this.#add([target], page.depth);
    const temporary = { code: "temporary_redirect", reason: "the page redirects temporarily" };
    await this.#record(page, { outcome: "moved", canonical: target, ...(!isPermanent && temporary) });
  }

  async #handleStatus(
    page: WaitingPage,
    { status, retryAfterSeconds = DEFAULT_RETRY_SECONDS }: Extract<FetchedPage, { kind: "status" }>,
  ): Promise<void> {
    if (RETRIED_STATUSES.includes(status)) await this.#retryLater(page, Math.min(retryAfterSeconds, MAX_RETRY_SECONDS));
    if (!GONE_STATUSES.includes(status)) throw statusError(status);
    await this.#record(page, { outcome: "missing", code: "url_status", reason: `it returned status ${status}` });
  }

  async #handleFailure(page: WaitingPage, error: unknown): Promise<void> {
    const { site } = this.#context;
    if (error instanceof ServiceError && error.code === "knowledge_limit_reached") {
      const failure = { outcome: "failed" as const, code: error.code, reason: error.message };
      await this.#record(page, failure);
      // Each further page would be fetched and read in vain.
      await withLease(this.#deps.database, site, (connection) => skipNewPages(connection, site, failure));
      return;
    }
    if (isUnexpected(error, this.#context.signal)) return this.#handleUnexpected(page, error);
    if (!isFetchFailure(error)) throw error;
    const { code, message } = error;
    const outcome = code === "unsupported_document" ? "skipped" : "failed";
    await this.#record(page, { outcome, code, reason: message });
  }

  async #handleUnexpected(page: WaitingPage, error: unknown): Promise<void> {
    const { workspaceId, id } = this.#context.site;
    const attempt = page.attempts + 1;
    this.#deps.log.error({ workspace_id: workspaceId, site_id: id, attempt, error }, "page check failed");
    await this.#retryLater(page, UNEXPECTED_PAUSE_SECONDS);
    await this.#record(page, { outcome: "failed", code: "unexpected_error", reason: "Parley could not read the page" });
  }

  /** Throws SitePaused, after which the page is checked again, unless this was the last attempt. */
  async #retryLater({ url, attempts }: WaitingPage, seconds: number): Promise<void> {
    if (attempts + 1 >= MAX_ATTEMPTS) return;
    await this.#withLease((connection) => deferPage(connection, this.#context.site, url));
    throw new SitePaused(seconds);
  }

  /** Returns the URL of the page that has the content of this one; undefined if it is this one. */
  async #findCanonical({ url }: WaitingPage, text: string): Promise<string | undefined> {
    const { site, robots } = this.#context;
    if (site.isSinglePage || !URL.canParse(text) || !isSameSite(text, site.url)) return undefined;
    const canonical = normalizeUrl(text);
    if (canonical === url || !isCrawlable(canonical, site) || !robots.mayFetch(canonical)) return undefined;
    const known = await findResult(this.#deps.database, site, canonical);
    const isGone = known?.outcome === "missing" || known?.outcome === "removed";
    // A canonical link to a page that is missing, redirects here or names this page as canonical is a mistake of the site.
    if (isGone || known?.canonical === url) return undefined;
    return canonical;
  }

  /** Adds the links that lead to pages of the site that may be fetched. */
  async #add(links: readonly string[], depth: number): Promise<void> {
    const { site, robots, signal } = this.#context;
    if (site.isSinglePage || depth > MAX_DEPTH) return;
    const mayAdd = (url: string) => isCrawlable(url, site) && robots.mayFetch(url);
    const urls = links.filter((url) => URL.canParse(url) && isSameSite(url, site.url)).map(normalizeUrl);
    const added = await filterUrls(new Set(urls), mayAdd, signal);
    if (added.length > 0) await this.#withLease((connection) => addPages(connection, site, added, depth));
  }

  #record({ url }: WaitingPage, result: PageResult): Promise<void> {
    const { site } = this.#context;
    return this.#withLease((connection) => recordResult(connection, site, url, result));
  }

  /** Removes the document of a page that the site's patterns exclude. */
  #exclude({ url }: WaitingPage): Promise<void> {
    const { site } = this.#context;
    const reason = "the site's settings leave out the page";
    return this.#withLease(async (connection) => {
      await recordResult(connection, site, url, { outcome: "skipped", code: "excluded", reason });
      await removeDocument(connection, site, { url, isRemoved: false });
    });
  }

  #withLease(work: (connection: Connection) => Promise<void>): Promise<void> {
    return withLease(this.#deps.database, this.#context.site, work);
  }
}

const NO_VALIDATORS: PageValidators = { etag: "", lastModified: "" };
