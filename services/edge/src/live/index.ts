export { HANDOFF_REFUSALS, translateHandoffError } from "./live.route.ts";
export type { LiveBus, LiveSignal } from "./live-bus.ts";
