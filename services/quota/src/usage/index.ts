export { handleGetUsage } from "./get-usage.rpc.ts";
export { requireTurnId } from "./turn-id.ts";
export { usageAdmin } from "./usage.admin.ts";
export { currentMonth, listTurns, readMonth } from "./usage.store.ts";
