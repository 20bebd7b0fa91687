import type { Database, Logger } from "@parley/service-kit";
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

/** Thrown if a site must not be crawled, or not now. */
export class SiteUnavailable extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
