export { HANDOFF_REFUSALS, translateHandoffError } from "./live.route.ts";
export type { LiveBus } from "./live-bus.ts";
