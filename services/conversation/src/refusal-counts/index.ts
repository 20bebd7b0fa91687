export { countRefusalSql, isRefusal, maxStoredRefusals, roomSql } from "./refusal-counts.store.ts";
