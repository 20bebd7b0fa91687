export { SiteCrawler } from "./crawler.worker.ts";
export type { RunResult } from "./site.ts";
export { createSiteAdmin } from "./sites.admin.ts";
export { createSiteRunCounter, registerSiteGauges } from "./sites.metrics.ts";
