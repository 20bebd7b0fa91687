export { createAdjustmentAdmin } from "./adjustments.admin.ts";
export { LOCK_PAST_MONTHS } from "./closed-months.store.ts";
export { createUsageAdmin, readMonthlyUsage } from "./usage.admin.ts";
export { currentMonth, listTurns, planOfMonth, readMonth, readMonthPage } from "./usage.store.ts";
