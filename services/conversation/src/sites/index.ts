export { SiteCrawler } from "./crawler.worker.ts";
export { createSiteAdmin } from "./sites.admin.ts";
