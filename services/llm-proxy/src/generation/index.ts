export { beginCall } from "./call-record.ts";
export type { Responder } from "./generator.ts";
export { type CountTokens, meter } from "./meter.ts";
