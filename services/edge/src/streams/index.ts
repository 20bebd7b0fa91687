export { createSseSink, startReplyResponse, STREAM_HEADERS } from "./sse-sink.ts";
export type { StreamHandle, StreamRegistry } from "./stream-registry.ts";
