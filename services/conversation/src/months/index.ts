export { createCloseMonthsTask } from "./close-months.worker.ts";
export { createPruneTurnsTask, type PruneTurnsDeps } from "./prune-turns.worker.ts";
