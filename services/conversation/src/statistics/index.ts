export { compareWeeksOfWorkspaces, listUsageByBot, readStatistics } from "./statistics.service.ts";
