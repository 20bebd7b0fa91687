export { listUsageByBot, readStatistics } from "./statistics.service.ts";
