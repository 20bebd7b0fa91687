import { RpcError } from "@parley/rpc";
import { type Database, type Logger, ServiceError } from "@parley/service-kit";
import type { DocumentFetcher, DocumentQueue } from "../documents/index.ts";
import type { ReadKnowledgeLimits } from "../knowledge/index.ts";
import type { Robots } from "./robots.ts";
import type { RunResult } from "./site.ts";

export type CrawlDeps = {
  database: Database;
  fetcher: DocumentFetcher;
  queue: DocumentQueue;
  readLimits: ReadKnowledgeLimits;
  /** The rules of the sites that this process crawls, by the site and its run. */
  robots: { get(key: string): Robots | undefined; set(key: string, robots: Robots): unknown };
  countRun: (result: RunResult) => void;
  log: Logger;
};

/** Thrown to let a site rest, because its server is busy. */
export class SitePaused extends Error {
  readonly seconds: number;

  constructor(seconds: number) {
    super(`the site pauses for ${seconds} s`);
    this.seconds = seconds;
  }
}

/** Thrown when the site was stopped, removed or changed, or when another process has taken it over. */
export class LeaseLost extends Error {}

/** Thrown if a site must not be crawled, or not now. */
export class SiteUnavailable extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Returns whether the URL or its content is the cause, not an overload. */
export function isFetchFailure(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.kind === "invalid_argument";
}

/**
 * Returns whether nobody foresaw a failure, such as a page that its reader cannot handle. It would repeat itself, so its cause is left out after a
 * few attempts. Another failure ends the work on the site for now, because the site, this process or another service is not ready.
 */
export function isUnexpected(error: unknown, signal: AbortSignal): boolean {
  const expected = [LeaseLost, SitePaused, SiteUnavailable, ServiceError, RpcError];
  return !signal.aborted && !expected.some((each) => error instanceof each);
}
