export { Alarm } from "./alarm.ts";
export { HANDOFF_REFUSALS, translateHandoffError } from "./live.route.ts";
export type { LiveBus } from "./live-bus.ts";
export { type LiveWriter, serveLiveStream } from "./serve-live-stream.ts";
