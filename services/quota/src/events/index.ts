export { listMonthEvents, pruneEvents } from "./events.store.ts";
export { handleListEvents, toEventMessage } from "./list-events.rpc.ts";
